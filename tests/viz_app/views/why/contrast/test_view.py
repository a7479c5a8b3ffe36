"""The page "Why A rather than B" without a browser."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.analysis.attribution.attribute import attribute_contrast
from core.analysis.attribution.contrast import contrast_at, runner_up
from core.analysis.attribution.contrast_methods import METHODS
from core.formats.checkpoint import load_checkpoint, save_checkpoint
from core.model import Transformer
from tests.viz_app.pages import Start, healthy, measured, opened, reading, state_of
from viz_app.controls import job_control
from viz_app.controls.predicted_token import alternatives
from viz_app.views.why.contrast import faithfulness_sample
from viz_app.views.why.contrast.contrast_scores import NOTHING, ScoringSlot, scored
from viz_app.views.why.contrast.faithfulness_sample import FaithfulnessSample

ONE_METHOD = {"contrast_methods": "occlusion"}  # in the address


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_control, "TURN", 60.0)


def said_output(app: AppTest) -> str:
    text = next(each.value for each in app.markdown if "nats" in each.value and "unknown tokens" in each.value)
    number = re.search(r" ([+\u2212]?[\d.]+) nats", text.replace("\\", ""))
    assert number
    return number[1].replace("\u2212", "-")


def test_the_runner_up_is_b_unless_another_is_chosen(start: Start) -> None:
    app = opened(start(beam_size="1", text="Where?", **ONE_METHOD), "contrast")
    about, position = reading(app), app.selectbox(key="token").value
    assert isinstance(position, int)

    def output(against: int | None) -> float:
        found = attribute_contrast(
            about.model.translator,
            about.translation.source,
            about.hypothesis.token_ids,
            position,
            against=against,
            methods=["occlusion"],
        )
        contrast.append(found.contrast)
        return found.output

    contrast = []
    output(None)
    assert said_output(app) == f"{output(runner_up(contrast[0])):+.2f}"
    assert "rather_than" not in app.query_params
    healthy(app.button_group(key="rather_than").set_value(NOTHING).run())
    assert said_output(app) == f"{output(None):.2f}"
    assert app.query_params["rather_than"] == NOTHING
    second = alternatives(about, position)[1]
    healthy(app.button_group(key="rather_than").set_value(second).run())
    assert app.query_params["rather_than"] == second
    elsewhere = 1 - position if position < 2 else 0
    healthy(app.selectbox(key="token").set_value(elsewhere).run())
    assert app.button_group(key="rather_than").value == alternatives(about, elsewhere)[0]
    assert "rather_than" not in app.query_params


def test_a_forced_token_is_not_explained_and_b_is_a_token_that_a_search_generates(
    start: Start, tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load_checkpoint(tiny_checkpoint)
    pieces = [loaded.tokenizer.piece(token_id) for token_id in range(loaded.tokenizer.vocab_size)]
    model = Transformer(replace(loaded.config, forced_first_id=pieces.index(max(pieces, key=len))))
    model.load_state_dict(loaded.model.state_dict())
    save_checkpoint(tmp_path / "forced.safetensors", model, loaded.tokenizer)
    app = opened(start(tmp_path / "forced.safetensors", beam_size="1", text="Where?", **ONE_METHOD), "contrast")
    about, position = reading(app), app.selectbox(key="token").value
    assert isinstance(position, int)
    assert position > 0
    best, *others = alternatives(about, position)
    translator = about.model.translator
    never = replace(translator.setup.options(), never=(translator.tokenizer.target.token_id(best),))
    monkeypatch.setattr(translator.setup, "options", lambda: never)
    assert alternatives(about, position) == others


def test_the_address_holds_alternative_and_methods(start: Start) -> None:
    settings = {"rather_than": NOTHING, **ONE_METHOD, "words": "false"}
    app = opened(start(beam_size="2", text="Where?", **settings), "contrast")
    assert app.button_group(key="rather_than").value == NOTHING
    assert app.button_group(key="contrast_methods").value == ["occlusion"]
    table = next(each.value for each in app.dataframe if "gap" in each.value)
    assert table["method"].tolist() == ["Occlusion", "Random order"]


def test_a_stopped_attribution_shows_the_methods_that_are_done(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_control, "TURN", 0.0)
    app = opened(start(beam_size="1", text="The sea."), "contrast")
    job = measured(app, ScoringSlot).job
    healthy(app.run())
    healthy(app.button(key="attribution").click().run())  # Stop
    assert not job.running
    assert 0 < job.done < len(METHODS)
    assert said_output(app)
    assert not any("gap" in each.value for each in app.dataframe)
    monkeypatch.setattr(job_control, "TURN", 60.0)
    healthy(app.button(key="attribution").click().run())  # Continue
    healthy(app.run())
    assert job.finished
    assert any("gap" in each.value for each in app.dataframe)


def test_methods_are_ranked_on_a_sample_that_grows(start: Start) -> None:
    app = opened(start(beam_size="2", text="Where?", **ONE_METHOD), "contrast")
    healthy(app.segmented_control(key="faithful_source").set_value("My own").run())
    app.button(key="measure_faithfulness").click()
    assert any("There is no sentence in this text" in error.value for error in app.run().error)
    app.text_area(key="faithful_text").set_value("Where?\nThe sea.")
    healthy(app.button(key="measure_faithfulness").click().run())
    sample = state_of(app, FaithfulnessSample)
    assert sample.job is not None
    assert sample.sentences == ("Where?", "The sea.")
    healthy(app.run())
    assert len(sample.examples) == 2
    assert app.query_params["faithful_sample"] == "own"
    ranking = next(each.value for each in app.dataframe if "beats_random" in each.value)
    assert len(ranking) == len(METHODS) + 1
    assert ranking["aopc"].is_monotonic_decreasing


def test_a_link_to_the_shipped_sample_measures_it_and_one_to_an_own_sample_says_what_it_lacks(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = ("Where?", "The sea.")
    monkeypatch.setattr(faithfulness_sample, "SHIPPED", few)
    app = opened(start(beam_size="2", text="Where?", faithful_sample="shipped", **ONE_METHOD), "contrast")
    sample = state_of(app, FaithfulnessSample)
    assert sample.sentences == few
    assert len(sample.examples) == len(few)
    other = opened(start(beam_size="2", text="Where?", faithful_sample="own", **ONE_METHOD), "contrast")
    assert any("which it does not include" in caption.value for caption in other.caption)


def test_the_first_picture_waits_for_no_slow_method(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_control, "TURN", 0.0)
    app = opened(start(beam_size="1", text="A dog that no other test explains."), "contrast")
    job = measured(app, ScoringSlot).job
    while not job.done:
        healthy(app.run())
    about, position = reading(app), app.selectbox(key="token").value
    assert isinstance(position, int)
    known = scored(about, position, runner_up(contrast_at(about.model.translator, *_sentence(app), position)))
    assert known.found is not None
    assert list(known.found.scores) == ["attention"]
    job.advance(60)
    healthy(app.run())
    assert known.curves is not None
    expected = attribute_contrast(
        about.model.translator, *_sentence(app), position, against=known.found.contrast.against
    )
    assert list(known.found.scores) == list(expected.scores) == list(METHODS)  # in the order of the list
    for method in METHODS:
        torch.testing.assert_close(known.found.scores[method], expected.scores[method])


def _sentence(app: AppTest) -> tuple[str, tuple[int, ...]]:
    about = reading(app)
    return about.translation.source, tuple(about.hypothesis.token_ids)
