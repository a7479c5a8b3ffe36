"""Previews of a sentence that was just entered: they show the same as the page then draws, and nothing else."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.viz_app.pages import Start, healthy, opened, reading, show_translation, state_of
from viz_app.components.sentence_bar import KEY
from viz_app.frame.sidebar import LanguageCodes
from viz_app.language import ENGLISH, speaking
from viz_app.session import previews, readings
from viz_app.session.previews import NoPreviewError, Previews

OTHER = "A dog runs."


def drawn(app: AppTest) -> dict[str, Any]:
    """The data of all components by their keys."""
    parts = [json.loads(each.proto.json) for each in app.get("bidi_component")]  # type: ignore[attr-defined]
    dated = [part for part in parts if isinstance(part, list) and len(part) == 4]
    no_drawings = "model_sketch", "frame_script", "files_", "clicks_", "copy_link"  # they are not previewed
    return {part[3]: part[1] for part in dated if not part[3].startswith(no_drawings)}


def preview(app: AppTest, text: str) -> dict[str, Any]:
    """The data of a preview by the keys of the components, made where no visitor is known."""
    found: list[dict[str, tuple[int, Any]] | Exception] = []

    def make() -> None:
        try:
            found.append(previews.preview(state_of(app, Previews).ticket, text))
        except (NoPreviewError, ValueError) as error:
            found.append(error)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if isinstance(found[0], Exception):
        raise found[0]
    return {key: json.loads(json.dumps(data)) for key, (_, data) in found[0].items()}


@pytest.fixture
def app(app: AppTest) -> AppTest:
    """The first page, which has run."""
    return healthy(app.run())


def enter(app: AppTest, text: str) -> AppTest:
    return healthy(app.text_input(key="text").set_value(text).run())


@pytest.fixture(autouse=True)
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """No search is too slow for a preview, on a busy machine neither."""
    monkeypatch.setattr(previews, "monotonic", lambda: 0.0)


@pytest.fixture
def heads(start: Start, request: pytest.FixtureRequest) -> Iterator[AppTest]:
    """The page Heads with some settings in its address."""
    address: dict[str, Any] = {"beam_size": "2", "text": "Where?", **getattr(request, "param", {})}
    with speaking(address.get("language", ENGLISH)):  # an `AppTest` translates the names of options itself
        yield opened(start(**address), "heads")


SETTINGS: dict[str, dict[str, Any]] = {  # of the settings that one drawing has, all in one
    "lines": {},
    "map of the decoder": {"kind": "decoder_self", "view": "map", "hide_special": "false"},
    "table of tokens": {"view": "table", "words": "false", "hypotheses": "1", "length_penalty": "1.0"},
    "a step of selected heads": {"heads_cross": ["L1 H2", "L2 H1", "Mean of chosen"], "step": "1", "mass": "0.9"},
    "sorted in German": {"language": "de", "sort": "entropy"},
}


@pytest.mark.parametrize("heads", SETTINGS.values(), ids=SETTINGS, indirect=True)
def test_a_preview_has_what_the_page_then_draws(heads: AppTest) -> None:
    before = drawn(heads)
    found = preview(heads, OTHER)
    assert drawn(enter(heads, OTHER)) == found
    assert found.keys() == before.keys()
    assert all(found[key] != before[key] for key in found)


def test_selected_words_and_their_step_go_with_the_sentence(heads: AppTest) -> None:
    about = reading(heads)
    state_of(heads, readings.Current).words = readings.SelectedWords(about.identity, (("target", range(1)),))
    heads.slider(key="step").set_value(1)
    healthy(heads.run())
    found = preview(heads, OTHER)
    assert found == drawn(enter(heads, OTHER))


def test_another_hypothesis_goes_with_the_sentence(heads: AppTest) -> None:
    show_translation(heads, 1)
    assert reading(heads).index == 1
    found = preview(heads, OTHER)
    assert found == drawn(enter(heads, OTHER))


@pytest.mark.parametrize("text", [OTHER, "Why not?"])
def test_the_page_translate_is_previewed_as_a_whole(app: AppTest, text: str) -> None:
    opened(app, "translate")
    before = drawn(app)
    found = preview(app, text)
    assert found == drawn(enter(app, text))
    assert all(found[key] != before[key] for key in found)


@pytest.mark.parametrize("page", ["beam", "lens"])
def test_other_pages_preview_the_words(start: Start, page: str) -> None:
    app = opened(start(beam_size="2", text="Where?"), page)
    found = preview(app, OTHER)
    assert list(found) == [KEY]
    assert drawn(enter(app, OTHER))[KEY] == found[KEY]


@pytest.mark.parametrize("heads", [{"weights": "gradient"}, {"kind": "joint"}, {"view": "bertviz"}], indirect=True)
def test_what_takes_longer_or_is_drawn_otherwise_is_left_out(heads: AppTest) -> None:
    assert list(preview(heads, OTHER)) == [KEY]


def test_a_drawing_with_cuts_is_left_out(heads: AppTest) -> None:
    heads.toggle(key="cutting").set_value(True)
    healthy(heads.run())
    assert preview(heads, OTHER).keys() == {KEY, "grid_heads_cross"}


def test_no_preview_of_nothing_of_the_same_of_much_and_for_a_stranger(app: AppTest) -> None:
    for text in ("", "  ", "Where?", "a " * 201):
        with pytest.raises(NoPreviewError):
            preview(app, text)
    with pytest.raises(NoPreviewError):
        previews.preview("", OTHER)
    with pytest.raises(NoPreviewError):
        previews.preview(state_of(app, Previews).ticket[:-1], OTHER)


def test_no_preview_of_a_sentence_with_a_forced_target(app: AppTest) -> None:
    about = reading(app)
    target = about.translation.hypotheses[1].token_ids
    state_of(app, readings.Current).forced = readings.ForcedText(
        about.model.digest, OTHER, readings.ForcedTarget(target=target)
    )
    with pytest.raises(NoPreviewError):
        preview(app, OTHER)
    assert preview(app, f"{OTHER} Where?")


def test_a_text_that_cannot_be_translated_is_left_to_the_page(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(previews, "MAX_CHARACTERS", 10_000)
    text = "a " * 2_000
    with pytest.raises(ValueError, match="tokens"):
        preview(app, text)
    app.text_input(key="text").set_value(text).run()
    assert "tokens" in app.error[0].value


def test_a_slow_search_is_stopped_and_no_longer_sentence_tried(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(100))
    monkeypatch.setattr(previews, "monotonic", lambda: next(ticks))  # a clock of seconds, one for each token
    for text in ("Two dogs run.", "Two dogs run away."):
        with pytest.raises(NoPreviewError):
            preview(app, text)
    assert next(ticks) == 2  # the second was not tried
    monkeypatch.setattr(previews, "monotonic", lambda: 0.0)
    assert preview(app, "A dog runs.")
    app.session_state["beam_size"] = 1  # another search
    healthy(app.run())
    assert preview(app, "Two dogs run away.")


def test_a_sentence_gets_the_language_code_that_the_page_gives_it(app: AppTest) -> None:
    codes, found = LanguageCodes(current=(">>deu<<", ">>fra<<")), state_of(app, Previews)
    assert found.page is not None
    found.page = replace(found.page, complete=codes.complete)
    text = codes.complete(OTHER)
    assert text.startswith(">>")
    assert preview(app, OTHER) == preview(app, text)


def test_a_closed_model_is_forgotten(app: AppTest) -> None:
    """Nothing but the session may keep it in memory."""
    found = state_of(app, Previews)
    found.forget_model("another")
    assert found.page is not None
    found.forget_model(found.page.model.digest)
    with pytest.raises(NoPreviewError):
        preview(app, OTHER)
