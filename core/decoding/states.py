"""Hypotheses of a search, and its state after each position."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from core.decoding.search_options import SearchOptions

Fate = Literal["live", "finished", "pruned"]
Stop = Literal["cannot_win", "beam_finished", "limit"]


@dataclass(frozen=True)
class Hypothesis:
    """A translation, finished or not.

    Attributes:
        token_ids: without `<s>`; the last is `</s>` if and only if it is finished.
        token_log_probs: log-probability of each token given the tokens before it, in nats.
        log_prob: their sum.
        score: `log_prob` divided by the length penalty.
        fed_ids: the decoder's input in the last iteration of mask-predict; None after a search for next tokens.
    """

    token_ids: tuple[int, ...] = ()
    token_log_probs: tuple[float, ...] = ()
    log_prob: float = 0.0
    score: float = 0.0
    finished: bool = False
    fed_ids: tuple[int, ...] | None = None

    def continued(self, token_id: int, token_log_prob: float, options: SearchOptions) -> "Hypothesis":
        """This hypothesis with one more token."""
        log_prob = self.log_prob + token_log_prob
        return Hypothesis(
            token_ids=(*self.token_ids, token_id),
            token_log_probs=(*self.token_log_probs, token_log_prob),
            log_prob=log_prob,
            score=options.score(log_prob, len(self.token_ids) + 1),
            finished=token_id == options.eos_id,
        )


class Candidate(NamedTuple):
    """One of the best continuations at a position.

    Attributes:
        parent: index, among the live hypotheses of the previous position, of the one it continues.
        token_log_prob: log-probability of `token_id` given the parent, in nats.
        log_prob: log-probability of the whole hypothesis, `token_id` included, in nats.
        fate: `live` (kept in the beam), `finished` (ended with `</s>`) or `pruned` (ranked below the beam).
    """

    parent: int
    token_id: int
    token_log_prob: float
    log_prob: float
    fate: Fate


@dataclass(frozen=True)
class BeamState:
    """The search for one sentence after one position.

    Attributes:
        sentence: row of the sentence in the initial batch.
        position: number of target tokens so far.
        limit: largest number of target tokens allowed.
        candidates: the best 2 x beam_size continuations (fewer if the vocabulary is smaller), best first.
        live: hypotheses that remain in the beam, best first: the candidates with fate `live`, in the same order.
        parents: for each live hypothesis, the index of its parent among the live hypotheses of the previous position.
        finished: all hypotheses finished so far, best score first.
        stop: reason for stopping after this position, None to continue: no live hypothesis can still win
            (`cannot_win`), beam_size hypotheses have finished (`beam_finished`), or `limit` is reached (`limit`).
    """

    sentence: int
    position: int
    limit: int
    candidates: tuple[Candidate, ...]
    live: tuple[Hypothesis, ...]
    parents: tuple[int, ...]
    finished: tuple[Hypothesis, ...]
    stop: Stop | None


def best_hypotheses(state: BeamState, options: SearchOptions) -> tuple[Hypothesis, ...]:
    """Best hypotheses if the search ended at this state: finished ones first, then live ones, best first."""
    return (state.finished + state.live)[: options.num_hypotheses]
