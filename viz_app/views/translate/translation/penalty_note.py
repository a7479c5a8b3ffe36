"""The length penalties at which another hypothesis comes first, each with a button that sets it."""

import math
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import streamlit as st

from core.analysis.penalty_changes import first_at, order_changes
from core.model.config import PenaltyFormula
from core.results import ScoredText
from viz_app.controls.widgets import text_button
from viz_app.drawing.ablation import difference, words_of
from viz_app.drawing.display_text import isolated, plain
from viz_app.language import joined, localized, marked, tr
from viz_app.session import address, readings

MOST, STEP = 2.0, 0.1  # of the slider in the settings
ABOUT = marked("""
Computed from the log-probabilities and lengths of these translations: where their scores are equal, they change places.
A search with the other penalty may find still other translations.
""")


class PenaltyChange(NamedTuple):
    """A setting of the length penalty at which another hypothesis comes first."""

    penalty: float  # a value of the slider
    rank: int  # index of that hypothesis
    returning: tuple[str, ...]  # what it has and the first now lacks, if it has all words of the first, too


def penalty_changes(
    hypotheses: Sequence[ScoredText], penalty: float, formula: PenaltyFormula = "paper"
) -> list[PenaltyChange]:
    """Return the nearest settings, below and above the current one, at which another hypothesis comes first."""
    changes = order_changes(hypotheses, formula, MOST)
    below = [(math.floor(each.alpha / STEP) * STEP, each.before) for each in changes if each.alpha < penalty]
    above = [(math.ceil(each.alpha / STEP) * STEP, each.after) for each in changes if each.alpha > penalty]
    found = [(round(setting, 1), index) for setting, index in (*below[-1:], *above[:1])]
    return [
        PenaltyChange(setting, index, returning(hypotheses[0], hypotheses[index]))
        for setting, index in found
        if index and setting <= MOST and first_at(hypotheses, setting, formula) == index
    ]


def returning(first: ScoredText, other: ScoredText) -> tuple[str, ...]:
    """Return the runs of words that another hypothesis has besides all words of the first; none if it lacks any."""
    old, new = words_of(first.tokens), words_of(other.tokens)
    lacking, added = difference([word.strip() for word in old], [word.strip() for word in new])
    if any(lacking):
        return ()
    runs = groupby(zip(added, new, strict=True), itemgetter(0))
    return tuple("".join(word for _, word in run).strip() for is_added, run in runs if is_added)


def set_penalty(penalty: float) -> None:
    """Search with another length penalty, and show the best hypothesis; call it in a callback."""
    address.LENGTH_PENALTY.set(penalty)
    readings.new_sentence()


def penalty_note(reading: readings.Reading) -> None:
    """Draw a line for each setting at which another hypothesis comes first."""
    hypotheses = reading.translation.hypotheses
    formula = reading.model.translator.config.penalty_formula
    for number, change in enumerate(penalty_changes(hypotheses, reading.search.length_penalty, formula)):
        values = {"penalty": localized(change.penalty, ".1f"), "number": change.rank + 1}
        if change.returning:
            words = joined(f"*{plain(isolated(each))}*" for each in change.returning)
            text = tr("You lost {words}; at a length penalty of {penalty} it returns.", words=words, **values)
        else:
            text = tr("At a length penalty of {penalty}, translation {number} comes first.", **values)
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"penalty-note-{number}"):
            st.markdown(text, width="content", help=tr(ABOUT))
            text = tr("Set {penalty}", penalty=values["penalty"])
            text_button(text, set_penalty, change.penalty, key=f"set_penalty_{change.penalty}")
