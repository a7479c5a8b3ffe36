"""The cut attention weights of a session, and their effect."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from core.analysis.interventions.cut_search import MAX_CUTS, CutSearch, find_cuts
from core.analysis.interventions.cut_translation import translate_cut
from core.analysis.interventions.cuts import Cut, CutEffect, cut_effect, parse_cut
from core.capture import Kind
from viz_app.language import marked
from viz_app.session.address import CUT
from viz_app.session.job_slot import JobSlot
from viz_app.session.jobs import Job
from viz_app.session.models import MODEL_HASH, Model
from viz_app.session.readings import READING_HASH, Reading, Search, SearchProgress
from viz_app.session.state import session_object

if TYPE_CHECKING:
    from collections.abc import Hashable

    from core import ScoredText


@dataclass
class Cuts:
    """The cuts of a session, which belong to one sentence and one model.

    Attributes:
        about: digest of the model, and the source.
        cuts: in the order in which they were made.
        problem: why the cuts of the address were not made, or "".
    """

    about: "Hashable" = None
    cuts: tuple[Cut, ...] = ()
    problem: str = ""

    def of(self, reading: Reading) -> tuple[Cut, ...]:
        """Return the cuts of a reading; at first and after going back, those of the address."""
        about = reading.model.digest, reading.translation.source
        if (named := CUT.take()) is not None:
            self.about = about
            try:
                self.cuts = tuple(map(parse_cut, named.value))
                effect(reading, self.cuts)
            except ValueError as error:
                self.cuts, self.problem = (), str(error)
        return self.cuts if self.about == about else ()

    def set(self, reading: Reading, cuts: Sequence[Cut]) -> None:
        """Keep these cuts and no others."""
        self.about, self.cuts, self.problem = (reading.model.digest, reading.translation.source), tuple(cuts), ""

    def toggle(self, reading: Reading, cuts: Sequence[Cut]) -> None:
        """Add cuts, or remove them if all of them are made, with whatever number."""
        old = self.of(reading)
        places = {(cut.head, cut.rows, cut.keys) for cut in cuts}
        others = [cut for cut in old if (cut.head, cut.rows, cut.keys) not in places]
        self.set(reading, others if len(others) + len(places) == len(old) else [*others, *cuts])


def write_address(cuts: Sequence[Cut]) -> None:
    """Write the cuts to the address."""
    CUT.put(list(map(str, cuts)))


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs={**READING_HASH, Cut: str})
def effect(about: Reading, cuts: tuple[Cut, ...]) -> CutEffect:
    """Return the effect of cuts on the target.

    Raises:
        ValueError: as `cut_effect`.
    """
    return cut_effect(about.model.translator, about.translation.source, about.hypothesis.token_ids, cuts)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs={**MODEL_HASH, Cut: str})
def cut_translation(
    model: Model, search: Search, cuts: tuple[Cut, ...], _progress: SearchProgress | None = None
) -> "ScoredText":
    """Return the best translation under cuts."""
    sizes = search.beam_size, search.length_penalty
    return translate_cut(model.translator, search.text, cuts, *sizes, _progress, search.constraints())


@dataclass
class FoundCuts:
    """A search for few cuts that change a token, by its state after each round."""

    states: list[CutSearch]
    job: Job


class CutSearchSlot(JobSlot[FoundCuts]):
    """The session's search."""


def cut_search(about: Reading, position: int, kind: Kind) -> FoundCuts:
    """Return the session's search for cuts in one kind of attention that change a predicted token.

    It is not running at first.
    """

    def begun() -> FoundCuts:
        states = list[CutSearch]()

        def steps() -> Iterator[int]:
            source, target = about.translation.source, about.hypothesis.token_ids
            for state in find_cuts(about.model.translator, source, target, position, (kind,)):
                states.append(state)
                yield int(not state.has_changed)

        return FoundCuts(states, Job(steps(), MAX_CUTS + 1, marked("cuts at most"), running=False))

    return session_object(CutSearchSlot).of((about.identity, position, kind), begun)
