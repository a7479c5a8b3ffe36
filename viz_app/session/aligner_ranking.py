"""Heads ranked as aligners of a text with gold links: how far each session has got with it, and what came of it."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from core.analysis.alignment.aligners import Aligner, AlignerRanking, head_error_rates
from core.analysis.alignment.pharaoh import GoldPair
from core.analysis.attribution.methods import METHODS, Method
from core.analysis.heads.head import Head
from viz_app.session.models import Model

# where the session keeps the work that is going on, and what came of the last
RANKING, RANKED, RATES = "ranking", "ranked", "file_rates"
TURN = 0.4  # seconds of work between two looks at whether its reader has clicked


@dataclass(frozen=True)
class Ranked:
    """What came of a text."""

    name: str  # of the checkpoint
    method: Method
    num_pairs: int
    aligners: list[Aligner]  # the best first


@dataclass
class Ranking:
    """A text's pairs, scored one by one: whoever stops it can go on later.

    Attributes:
        running: whether the page is to go on with it.
        done: how many pairs have been scored.
        problem: why it cannot go on, if so.
    """

    model: Model
    method: Method
    pairs: Sequence[GoldPair]
    running: bool = True
    done: int = 0
    problem: str = ""
    turn: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _scores: AlignerRanking = field(default_factory=AlignerRanking)

    def let_run(self, running: bool) -> None:
        """Stop it, or go on with it."""
        self.running = running

    def advance(self) -> bool:
        """One turn's worth of pairs more, one at least; whether it can go on. What is finished is remembered.

        A run of the page that was interrupted may still be at its last pairs while the next one asks for more.
        """
        with self.turn:
            return self._advance()

    def _advance(self) -> bool:
        end = time.monotonic() + TURN
        while self.done < len(self.pairs):
            try:
                self._scores.replay(
                    self.model.translator, self.pairs[self.done], lambda *given: METHODS[self.method](*given)["cross"]
                )
            except ValueError as error:
                self.running, self.problem = False, f"pair {self.done + 1}: {error}"
                return False
            self.done += 1
            if time.monotonic() >= end and self.done < len(self.pairs):
                return True
        aligners = self._scores.aligners()
        st.session_state[RANKED] = Ranked(self.model.name, self.method, len(self.pairs), aligners)
        if self.method == "attention":
            st.session_state[RATES] = (self.model.digest, head_error_rates(aligners))
        if ranking() is self:
            del st.session_state[RANKING]
        return False


def begin(model: Model, method: Method, pairs: Sequence[GoldPair]) -> None:
    """Rank every head on these pairs from now on, as `python -m core align` does."""
    st.session_state[RANKING] = Ranking(model, method, pairs)


def ranking() -> Ranking | None:
    """What is not yet finished."""
    return st.session_state.get(RANKING)


def ranked() -> Ranked | None:
    """What came of the last text that was finished."""
    return st.session_state.get(RANKED)


def error_rates(model: Model) -> Mapping[Head, float]:
    """The alignment error rate of every head's weights on the last text; empty where this checkpoint was not ranked."""
    digest, rates = st.session_state.get(RATES, (None, {}))
    return rates if digest == model.digest else {}
