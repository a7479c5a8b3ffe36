"""Two models over a test set, without a browser."""

import pytest
from streamlit.testing.v1 import AppTest

from core.files.shipped_files import shipped_checkpoint
from tests.viz_app.pages import Start, added, healthy, opened, state_of, submitted
from viz_app.drawing.theme import DARK, LIGHT
from viz_app.session.open_models import OpenModels
from viz_app.views.compare.test_set import compared_file
from viz_app.views.compare.test_set.compared_file import ComparedFile
from viz_app.views.compare.test_set.figures import marker_line, sentences_figure

TEXT = "A dog runs.\tEin Hund rennt.\nThe sea.\tDas Meer\nTwo men <b>sit</b>.\tZwei Männer sitzen."


@pytest.fixture
def page(start: Start) -> AppTest:
    app = start(text="Where?", beam_size="1")
    other = shipped_checkpoint("multi30k-distilled")
    return opened(added(app.run(), (other.name, other.read_bytes())), "test_set")


def test_scores_sentences_and_buckets_stand_on_the_page_and_are_drawn(page: AppTest) -> None:
    submitted(page, "test_set", TEXT, ComparedFile)
    result = state_of(page, ComparedFile).result
    assert result is not None
    scores, signs, lines = (each.value for each in page.dataframe)
    assert signs["first"].fillna(-1).tolist() == [-1 if each.first is None else each.first for each in result.signs]
    assert scores["metric"].tolist() == ["BLEU", "chrF2"]
    assert scores["first"].tolist() == [round(each.first, 2) for each in result.scores]
    assert lines["difference"].is_monotonic_decreasing
    assert set(lines["line"]) == {1, 2, 3}
    assert "3 sentences" in " ".join(each.value for each in page.caption)

    names = "one & <two>", "two"
    for theme in (LIGHT, DARK):
        points = sentences_figure(result.lines, names, theme)
        assert list(points.data[1].x) == [line.chrf[0] for line in result.lines]
    assert marker_line(result.lines, {"curve_number": 1, "point_index": 2}) is result.lines[2]
    assert marker_line(result.lines, {"curve_number": 0, "point_index": 1}) is None
    assert marker_line(result.lines, {"curve_number": 1, "point_index": 3}) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "There is no sentence: expected one per line"),
        ("a\n", "Line 1 has no reference"),
        ("a\tb\n" * 5, "has 5 sentences, at most 4 are read here: use"),
        ("very " * 600 + "\tsehr", "Line 1: the text has"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    page: AppTest, text: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compared_file, "MAX_LINES", 4)
    submitted(page, "test_set", text, ComparedFile)
    assert said in page.error[0].value.replace("\\", "")
    assert not page.dataframe


@pytest.mark.parametrize(("view", "settings"), [("test_set", {}), ("compare", {"against": "Checkpoint"})])
def test_a_second_checkpoint_is_asked_for_and_a_shipped_one_is_a_click_away(
    start: Start, view: str, settings: dict[str, str]
) -> None:
    app = opened(start(shipped_checkpoint(), text="Where?", beam_size="1", **settings), view)
    assert "Open a second checkpoint" in app.info[0].value
    offered = {button.key for button in app.button if (button.key or "").startswith("second-")}
    assert offered >= {"second-multi30k", "second-multi30k-distilled"}
    assert "second-en-fr" not in offered
    healthy(app.button(key="second-multi30k").click().run())
    assert state_of(app, OpenModels).model().name == "en-de.safetensors"
    key = "test_set_other" if view == "test_set" else "second_checkpoint"
    assert app.selectbox(key=key).options == ["multi30k.safetensors"]
