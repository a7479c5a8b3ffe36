"""The page Patching without a browser."""

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.heads.head import Head
from core.analysis.interventions.patching import mean_map, patching_map
from core.analysis.interventions.recorded_runs import record_runs
from tests.viz_app.pages import Start, healthy, measured, opened, reading, said, state_of
from viz_app.controls import job_control
from viz_app.views.experiments.patching.measurement import PatchingSlot, PathsSlot

CLEAN, CORRUPTED, TARGET = "The house.", "The train.", "345.28.346.2"


def patched(start: Start, **address: str) -> AppTest:
    settings = {"text": CLEAN, "corrupted": CORRUPTED, "beam_size": "1", "target": TARGET, **address}
    return opened(start(**settings), "patching")


def test_the_map_is_measured_and_checked(start: Start) -> None:
    app = patched(start, patched_token="3")
    found, about = measured(app, PatchingSlot), reading(app)
    runs = record_runs(about.model.translator, CLEAN, CORRUPTED, about.hypothesis.token_ids, 2)
    assert found.job is not None
    assert found.job.finished
    for component, effects in patching_map(runs).items():
        assert effects.recovered.tolist() == found.components().run().effects[component].recovered.tolist()
    assert found.gap < 1e-3
    assert "Logit of" in said(app)
    assert "Shares need not sum to 1" in said(app)
    assert "and each of its heads alone" in said(app)
    assert " of the difference; an output of attention drawn by lot, " in said(app)


def test_the_address_holds_the_question_and_the_selection(start: Start) -> None:
    app = patched(start, patched_token="3", patch_metric="log_prob", patch_into="clean", patch="cross.2.1")
    question = measured(app, PatchingSlot).question
    assert (question.position, question.metric, question.into) == (2, "log_prob", "clean")
    assert app.session_state["patch"] == ("cross", 1, 0)
    assert app.query_params["patch"] == "cross.2.1"
    assert app.query_params["patched_token"] == "3"
    assert app.query_params["corrupted"] == CORRUPTED
    assert "Log-probability of" in said(app)
    app.session_state["patch"] = ("encoder_state", 0, 99)  # of a longer sentence
    healthy(app.run())
    assert "patch" not in app.query_params


def test_the_token_to_compare_with_is_selected(start: Start) -> None:
    app = patched(start, patched_token="2")
    about, box = reading(app), app.selectbox(key="patched_against")
    assert measured(app, PatchingSlot).question.against is None
    piece = next(
        str(token) for token, _ in about.explain().alternatives[1] if token != about.explain().predicted_tokens[1]
    )
    healthy(box.set_value(piece).run())
    assert measured(app, PatchingSlot).pairs[0].against == about.model.translator.tokenizer.target.token_id(piece)
    assert app.query_params["patched_against"] == piece


def test_a_stopped_map_shows_what_is_measured(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_control, "TURN", 0.0)
    app = patched(start)
    next(button for button in app.button if button.label == "Stop").click()
    healthy(app.run())
    found = measured(app, PatchingSlot)
    assert found.job is not None
    assert not found.job.running
    assert 0 < found.job.done < found.job.total
    measured_layers = sum(
        not effects.values[layer].isnan().any()
        for effects in found.components().run().effects.values()
        for layer in (0, 1)
    )
    assert measured_layers == found.job.done
    assert f"{found.job.done} of {found.job.total} layers of components" in said(app)
    assert "and each of its heads alone" not in said(app)


def test_proposals_and_their_mean(start: Start) -> None:
    app = opened(start(text="His hand.", beam_size="1", target=TARGET), "patching")
    buttons = [button for button in app.button if str(button.key).startswith("proposal: ")]
    assert buttons
    text = app.text_input(key="corrupted").value
    assert text in [str(button.key).removeprefix("proposal: ") for button in buttons]
    other = next(button for button in buttons if not button.disabled)
    healthy(other.click().run())
    assert app.text_input(key="corrupted").value == str(other.key).removeprefix("proposal: ")
    mean = next(toggle for toggle in app.toggle if toggle.key == "patch_mean")
    if mean.disabled:
        pytest.fail("there is only one proposal for each word")
    healthy(mean.set_value(True).run())
    found = measured(app, PatchingSlot)
    assert len(found.question.corrupted) > 1
    assert len(found.pairs) + len(found.left_out) == len(found.question.corrupted)
    expected = mean_map([patching_map(runs) for runs in found.pairs])
    assert found.components().run().effects["cross"].recovered.tolist() == expected["cross"].recovered.tolist()


def test_paths_between_heads(start: Start) -> None:
    app = patched(start, patch_view="paths", sender="encoder_self.1.2")
    paths = state_of(app, PathsSlot).measured
    assert paths is not None
    assert paths.job.finished
    assert not paths.found.values.isnan().any()
    assert app.session_state["sender"] == Head("encoder_self", 0, 1)
    assert "Encoder L1 H2**, by the position" in said(app)
    healthy(app.button_group(key="receiver_kind").set_value("encoder_self").run())
    app.selectbox(key="receiver_encoder_self").set_value("L1 H1")
    assert "No head comes before Encoder L1 H1: select a higher layer" in said(healthy(app.run()))


@pytest.mark.parametrize(
    ("corrupted", "message"),
    [
        ("The sea.", "The first sentence has 6 tokens"),
        (CLEAN, "Both sentences have the same tokens"),
        (" ", "Type a second sentence"),
    ],
)
def test_second_sentences_that_cannot_be_patched_are_explained(start: Start, corrupted: str, message: str) -> None:
    assert message in said(patched(start, corrupted=corrupted))


def test_a_sentence_without_known_words_has_no_proposal(start: Start) -> None:
    app = opened(start(text="Where?", beam_size="1"), "patching")
    assert "No word of this sentence is in the project's word list" in said(app)


@pytest.mark.parametrize("text", ["cross", "cross.0.1", "state.1.1", "cross.1.1<b>"])
def test_what_names_no_cell_selects_none(start: Start, text: str) -> None:
    assert patched(start, patch=text).session_state["patch"] is None
