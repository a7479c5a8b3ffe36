"""The note on length penalties at which another hypothesis comes first."""

import pytest

from core.analysis.penalty_changes import crossing, first_at
from core.results import ScoredText
from tests.viz_app.pages import Start, healthy, opened, reading
from viz_app.views.translate.translation import penalty_note
from viz_app.views.translate.translation.penalty_note import PenaltyChange, penalty_changes, returning


def hypothesis(text: str, log_prob: float) -> ScoredText:
    tokens = (*(f"\u2581{word}" for word in text.split()), "</s>")
    return ScoredText(text, tuple(range(len(tokens))), tokens, (log_prob / len(tokens),) * len(tokens), 0.0)


SHORT, LONG = hypothesis("Ich war dort", -3.0), hypothesis("Ich war gestern in Rom dort", -3.8)


def test_the_setting_is_the_next_one_of_the_slider_at_which_the_order_has_changed() -> None:
    alpha = crossing(SHORT, LONG)
    assert alpha is not None
    (change,) = penalty_changes([SHORT, LONG], 0.1)
    assert change == PenaltyChange(change.penalty, 1, ("gestern in Rom",))
    assert alpha < change.penalty < alpha + 0.1
    assert first_at([SHORT, LONG], change.penalty) == 1
    (back,) = penalty_changes([LONG, SHORT], 1.5)
    assert (back.rank, back.returning) == (1, ())
    assert alpha - 0.1 < back.penalty < alpha


@pytest.mark.parametrize("others", [[], [hypothesis("Ich war da", -4.0)]])
def test_there_is_no_note_where_no_penalty_changes_the_first(others: list[ScoredText]) -> None:
    assert penalty_changes([SHORT, *others], 0.6) == []


def test_words_return_if_all_others_stay() -> None:
    assert returning(SHORT, LONG) == ("gestern in Rom",)
    assert returning(LONG, SHORT) == ()
    assert returning(SHORT, hypothesis("Ich bin gestern dort", -4.0)) == ()  # `war` is lost
    assert returning(SHORT, hypothesis("Ja Ich war dort in Rom", -4.0)) == ("Ja", "in Rom")


def test_the_button_sets_the_penalty_and_shows_the_best(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [PenaltyChange(1.4, 1, ("<in> Rom",))]
    monkeypatch.setattr(penalty_note, "penalty_changes", lambda *_: found)
    app = opened(start(text="Where?", beam_size="2"), "translate")
    text = next(each.value for each in app.markdown if each.value.startswith("You lost")).replace("\\", "")
    assert text == "You lost *<in> Rom*; at a length penalty of 1.4 it returns."
    found[:] = []
    app.button(key="set_penalty_1.4").click()
    assert reading(healthy(app.run())).search.length_penalty == 1.4
    assert app.query_params["length_penalty"] == "1.4"
