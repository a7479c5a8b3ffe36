"""The page Score a file without a browser."""

from collections.abc import Callable, Iterator, Sequence

import pytest
import streamlit
from streamlit.testing.v1 import AppTest

from core.analysis.signs import pair_signs
from core.analysis.signs.pair_signs import SIGNS, SignName
from core.analysis.signs.thresholds import SignThresholds, Threshold
from core.analysis.word_scores.remedies import Setting, Trial
from core.analysis.word_scores.signed_lines import SignedLine
from tests.viz_app.pages import Start, healthy, opened, reading, said, state_of, submitted, to_page
from viz_app.controls import job_control, lines_form
from viz_app.session import signs
from viz_app.session.readings import Search
from viz_app.views.translate.score import scored_file
from viz_app.views.translate.score.scored_file import ScoredFile

TEXT = "A dog runs.\tEin Hund.\nThe sea.\tDas Meer"


LIMITS = {name: Threshold(1.0 if name == "repetition" else 1e9, 8, 0.0) for name in SIGNS}


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs, "thresholds", lambda _: SignThresholds(LIMITS, "a sample", 8))


@pytest.fixture
def page(start: Start) -> AppTest:
    return opened(start(text="Where?", beam_size="1"), "score")


def test_the_worst_word_is_first_and_the_text_stays(page: AppTest) -> None:
    submitted(page, "score", TEXT, ScoredFile)
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
        ("a\n" * 5, "has 5 sentences, at most 4 are read here: use"),
        ("very " * 600, "Line 1: the text has"),
    ],
)
def test_what_cannot_be_scored_is_refused(page: AppTest, text: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scored_file, "MAX_LINES", 4)
    submitted(page, "score", text, ScoredFile)
    assert said in page.error[0].value.replace("\\", "")
    assert not page.dataframe


def test_a_file_that_is_no_text_is_refused(page: AppTest) -> None:
    page.file_uploader(key="score_file").set_value(("bad.tsv", b"\xff\xfe", "text/plain"))
    healthy(page.button(key="score_submit").click().run())
    assert "bad.tsv is not UTF-8 text" in page.error[0].value.replace("\\", "")


def test_sentences_are_listed_by_their_signs_and_opened_with_the_words(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted(page, "score", f"{TEXT}\nA cat.\tEine Eine Eine Katze.", ScoredFile)
    table = page.dataframe[0].value  # the sentences come first, as a sign fires
    assert (table["line"].tolist(), table["signs"].tolist()) == ([3], ["Repetition"])
    assert table["left_out"].notna().all()
    assert any("1 of 3 sentences" in each.value for each in page.markdown)
    assert "Repetition 1" in page.segmented_control(key="sorted_by").options
    assert any("not ordinary errors" in each.value for each in page.caption)
    assert any("Not offered for given translations: doubtful words" in each.value for each in page.caption)
    healthy(page.segmented_control(key="sorted_by").set_value("repetition").run())
    assert page.dataframe[0].value["line"].tolist() == [3]
    healthy(page.segmented_control(key="sorted_by").set_value("detached").run())
    assert page.dataframe[0].value["detached"].is_monotonic_decreasing
    line = next(each for each in state_of(page, ScoredFile).signed if each.line.number == 3)
    thresholds = SignThresholds(LIMITS, "", 8)
    assert line.texts(line.marked(thresholds)) == ["Eine", "Eine"]
    monkeypatch.setattr(pair_signs, "MOST_MARKED", 1)
    assert line.words(thresholds) == "Eine +1"


def test_where_no_sign_fires_the_sentences_name_the_words_of_the_sign_that_they_are_sorted_by(page: AppTest) -> None:
    submitted(page, "score", f"{TEXT}\nIn 2014.\tIm Jahr 2015.", ScoredFile)
    healthy(page.segmented_control(key="listed").set_value("sentences").run())
    assert any("0 of 3 sentences" in each.value for each in page.markdown)
    assert page.dataframe[0].value["words"].tolist() == ["", "", ""]
    healthy(page.segmented_control(key="sorted_by").set_value("numbers").run())
    assert any("This sign fires on no sentence" in each.value for each in page.caption)
    table = page.dataframe[0].value
    assert (table["line"].tolist()[0], table["words"].tolist()) == (3, ["2014 2015", "", ""])


def mended(page: AppTest, monkeypatch: pytest.MonkeyPatch, fires: SignName, mends: Callable[[Setting], bool]) -> None:
    """Score a sentence on which a sign fires, and try settings of which some are said to mend it."""

    def tried(_: object, planned: Sequence[tuple[SignedLine, Setting]], *_others: object) -> Iterator[Trial]:
        for line, setting in planned:
            yield Trial(line, setting, line, "mended" if mends(setting) else "")

    def rows(_table: object, key: str, on_row: Callable[[int], None], **_options: object) -> None:
        streamlit.button("row", key=key, on_click=on_row, args=(0,))

    limits = {**LIMITS, fires: Threshold(-1e9, 8, 0.0)}
    monkeypatch.setattr(signs, "thresholds", lambda _: SignThresholds(limits, "a sample", 8))
    monkeypatch.setattr(scored_file, "try_settings", tried)
    monkeypatch.setattr(lines_form, "selectable_table", rows)
    monkeypatch.setattr(job_control, "TURN", 60.0)
    submitted(page, "score", "The sea.", ScoredFile)
    healthy(page.button(key="mend").click().run())


def test_a_setting_that_mends_is_named_and_a_click_opens_the_sentence_with_it(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    mended(page, monkeypatch, "detached", lambda setting: setting.length_penalty == 1.5)
    assert "Length penalty 1.5 mends 1 of 1 sentences with a sign and harms 0 of 0 without one" in said(page)
    assert page.dataframe[0].value["mended"].tolist()[0] == 1
    healthy(page.button(key="signed_sentences").click().run())
    assert reading(page).search == Search("The sea.", beam_size=4, length_penalty=1.5)


def test_a_click_opens_the_sentence_with_another_word_if_that_mends_it(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    mended(page, monkeypatch, "doubtful", lambda setting: bool(setting.constraints.forbidden))
    [trial] = state_of(page, ScoredFile).remedies.first.values()
    [(token_id, position)] = trial.setting.constraints.forbidden
    assert position is not None
    healthy(page.button(key="signed_sentences").click().run())
    before, after = trial.line.line.target.token_ids, reading(page).hypothesis.token_ids
    assert after[:position] == before[:position]
    assert after[position] != before[position] == token_id


def test_without_a_sample_in_its_language_a_model_has_values_alone(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> Iterator[int]:
        yield 3
        raise ValueError("the sample is in another language")

    monkeypatch.setattr(signs, "thresholds", lambda _: None)
    monkeypatch.setattr(signs, "measure_steps", refused)
    submitted(page, "score", TEXT, ScoredFile)
    healthy(page.segmented_control(key="listed").set_value("sentences").run())
    assert any("no thresholds: the sample is in another language" in each.value for each in page.caption)
    assert page.dataframe[0].value["signs"].tolist() == ["", ""]
    job = state_of(page, ScoredFile).job
    assert job is not None
    assert job.done == job.total
