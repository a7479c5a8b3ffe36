"""The questions below the sentence, and the pages that they lead to."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.analysis.tokens.words import text_word_groups
from core.analysis.word_scores.least_probable import least_probable_token
from tests.viz_app.pages import Start, healthy, opened, reading, state_of
from viz_app.session.readings import Current, Reading, SelectedWords

TEXT = "Where is the old station?"


@pytest.fixture
def app(start: Start) -> AppTest:
    return opened(start(text=TEXT, beam_size="2"), "translate")


def labels(app: AppTest) -> list[str]:
    return [each.label for each in app.button if str(each.key).startswith("ask_")]


def select(app: AppTest, *words: tuple[str, range]) -> AppTest:
    state_of(app, Current).words = SelectedWords(reading(app).identity, words)  # type: ignore[arg-type]
    return healthy(app.run())


def test_the_least_probable_word_is_asked_about_and_its_question_opens_why(app: AppTest) -> None:
    explanation = reading(app).explain()
    position = least_probable_token(explanation)
    assert len(labels(app)) >= 1
    assert labels(app)[0].startswith("Why \u201c")
    healthy(app.button(key="ask_why").click().run())
    assert app.selectbox(key="token").value == position
    ((side, group),) = readings_of(app)
    assert side == "target"
    assert position in group
    assert "ask_why" not in {each.key for each in app.button}  # the page itself


def readings_of(app: AppTest) -> tuple[tuple[str, range], ...]:
    return state_of(app, Current).words.words


def test_with_one_word_selected_the_line_says_how_to_ask_about_two(app: AppTest) -> None:
    def hints() -> int:
        return sum("which head links the two?" in each.value for each in app.caption)

    first, second, *_ = text_word_groups(reading(app).explain().source_tokens)
    assert hints() == 0
    select(app, ("source", first))
    assert hints() == 1
    select(app, ("source", first), ("source", second))
    assert hints() == 0


def test_the_question_about_two_words_opens_their_first_head_and_the_link_the_other_way_is_a_click_away(
    app: AppTest,
) -> None:
    groups = text_word_groups(reading(app).explain().source_tokens)
    select(app, ("source", groups[3]), ("source", groups[1]))
    assert labels(app)[0] == "Which head links \u201cold\u201d and \u201cis\u201d?"
    healthy(app.button(key="ask_head").click().run())
    assert app.segmented_control(key="kind").value == "encoder_self"
    assert app.selectbox(key="sort").value == "pair"
    for words in ("old \u2192 is", "is \u2192 old"):
        text = next(each.value for each in app.markdown if "has the most weight" in each.value)
        (name,) = app.multiselect(key="heads_encoder_self").value
        assert text.startswith(f"**{words}**: **{name}** has the most weight, ")
        healthy(opened(app, "heads").button(key="turn_pair").click().run())
    assert readings_of(app) == (("source", groups[3]), ("source", groups[1]))  # turned twice


@pytest.mark.parametrize("page", ["heads", "corpus"])
def test_which_head_is_not_asked_where_it_is_answered(start: Start, page: str) -> None:
    app = opened(start(text=TEXT, beam_size="2"), page)
    groups = text_word_groups(reading(app).explain().source_tokens)
    select(app, ("source", groups[3]), ("source", groups[1]))
    assert not any(each.startswith("Which head") for each in labels(app))
    assert sum("has the most weight" in each.value for each in app.markdown) == 1


def test_a_word_that_is_left_out_is_asked_about(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    group = text_word_groups(reading(app).explain().source_tokens)[4]
    monkeypatch.setattr(Reading, "left_out", (group,))
    healthy(app.run())
    assert "Where did \u201cstation\u201d go?" in labels(app)
    healthy(app.button(key=f"ask_where_{group.start}").click().run())
    assert readings_of(app) == (("source", group),)
    assert any("what each target word attends to" in each.value for each in app.markdown)


def test_a_left_out_word_that_occurs_twice_is_asked_about_once(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(start(text="The station and the station."), "translate")
    groups = [
        group
        for group in text_word_groups(reading(app).explain().source_tokens)
        if "station" in "".join(reading(app).explain().source_tokens[group.start : group.stop])
    ]
    assert len(groups) == 2
    monkeypatch.setattr(Reading, "left_out", tuple(groups))
    healthy(app.run())
    asked = [each.key for each in app.button if str(each.key).startswith("ask_where_")]
    assert asked == [f"ask_where_{groups[0].start}"]


def test_a_question_has_no_page_that_is_not_for_the_model(start: Start, tree_checkpoint: Path) -> None:
    app = opened(start(tree_checkpoint, text="A dog runs."), "heads")
    assert [each.split()[0] for each in labels(app)] == ["Why"]  # which explains any next token
    assert reading(app).left_out == ()
