"""The page Score a file without a browser."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.viz_app.pages import Start, healthy, opened, state_of, to_page
from viz_app.controls.job_control import TURN
from viz_app.views.translate.score import scored_file
from viz_app.views.translate.score.scored_file import ScoredFile

TEXT = "A dog runs.\tEin Hund.\nThe sea.\tDas Meer"


@pytest.fixture
def page(start: Start) -> AppTest:
    return opened(start(text="Where?", beam_size="1"), "score")


def scored(page: AppTest, text: str) -> AppTest:
    """The page after a text was entered and its job ended."""
    page.text_area(key="score_pasted").set_value(text)
    healthy(page.button(key="score_submit").click().run())
    job = state_of(page, ScoredFile).job
    if job is None:
        return page
    while job.advance(TURN):
        pass
    return healthy(page.run())


def test_the_worst_word_is_first_and_the_text_stays(page: AppTest) -> None:
    scored(page, TEXT)
    table = page.dataframe[0].value
    assert table["log_prob"].is_monotonic_increasing
    assert set(table["line"]) == {1, 2}
    assert "2 sentences" in " ".join(each.value for each in page.markdown)
    to_page(page, "heads").run()
    to_page(page, "score").run()
    assert healthy(page).dataframe[0].value.equals(table)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "There is no sentence: expected one per line"),
        ("a\tb\tc", "Line 1 has 3 columns"),
        ("a\n" * 5, "has 5 sentences, at most 4 can be scored here: use"),
        ("very " * 600, "Line 1 has"),
    ],
)
def test_what_cannot_be_scored_is_refused(page: AppTest, text: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scored_file, "MAX_LINES", 4)
    scored(page, text)
    assert said in page.error[0].value.replace("\\", "")
    assert not page.dataframe


def test_a_file_that_is_no_text_is_refused(page: AppTest) -> None:
    page.file_uploader(key="score_file").set_value(("bad.tsv", b"\xff\xfe", "text/plain"))
    healthy(page.button(key="score_submit").click().run())
    assert "bad.tsv is not UTF-8 text" in page.error[0].value.replace("\\", "")
