"""Options of a search, its hypotheses, and its state after each position."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from core.decoding.constraints import FREE, Constraints
from core.files.number_range import NumberRange
from core.model.config import PenaltyFormula

Fate = Literal["live", "finished", "pruned"]
Stop = Literal["cannot_win", "beam_finished", "limit"]
MAX_BEAM_SIZE = 64
MAX_LENGTH_PENALTY = 5.0
BEAM_SIZES = NumberRange(int, 1, MAX_BEAM_SIZE)
LENGTH_PENALTIES = NumberRange(float, 0, MAX_LENGTH_PENALTY)


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Options of a search.

    Raises:
        ValueError: a value is out of range.
    """

    bos_id: int
    eos_id: int
    never: tuple[int, ...]  # ids that are not generated, such as padding; `bos_id` never is, unless it is also `eos_id`
    beam_size: int = 4  # number of live hypotheses at a position
    length_penalty: float = 0.6  # alpha; 0 ranks by log-probability alone, larger values favour longer hypotheses
    num_hypotheses: int = 1  # number of hypotheses to return
    penalty_formula: PenaltyFormula = "paper"  # see `TransformerConfig`, as for `early_stopping`
    early_stopping: bool = True
    first_is_certain: bool = False  # a prefix's first token is the task's, such as a language, of probability one
    constraints: Constraints = FREE  # what is forbidden in some places
    ends: bool = True  # whether hypotheses end with `eos_id`, which is not generated otherwise

    def __post_init__(self) -> None:
        BEAM_SIZES.check("beam_size", self.beam_size)
        LENGTH_PENALTIES.check("length_penalty", self.length_penalty)
        if self.num_hypotheses not in NumberRange(int, 1, self.beam_size):
            raise ValueError(
                f"num_hypotheses ({self.num_hypotheses!r}) must be an integer from 1 to beam_size ({self.beam_size})"
            )

    def score(self, log_prob: float, length: int) -> float:
        """Score that hypotheses are ranked by."""
        return log_prob / penalised_length(length, self.penalty_formula) ** self.length_penalty

    @property
    def excluded(self) -> tuple[int, ...]:
        """Ids that are never generated."""
        return tuple({self.bos_id, *self.never} - {self.eos_id if self.ends else None})

    def excluded_at(self, position: int) -> tuple[int, ...]:
        """Ids that are not generated after `position` tokens."""
        if self.constraints == FREE:
            return self.excluded
        return tuple({*self.excluded, *self.constraints.excluded_at(position, self.eos_id)})


def penalised_length(length: int, formula: PenaltyFormula) -> float:
    """Base of the length penalty; the length, in tokens, includes `</s>`."""
    return float(max(length, 1)) if formula == "length" else (5 + length) / 6  # a beginning may be empty


@dataclass(frozen=True)
class Hypothesis:
    """A translation, finished or not."""

    token_ids: tuple[int, ...] = ()  # without `<s>`; the last is `</s>` if and only if it is finished
    token_log_probs: tuple[float, ...] = ()  # log-probability of each token given the tokens before it, in nats
    log_prob: float = 0.0  # their sum
    score: float = 0.0  # `log_prob` divided by the length penalty
    finished: bool = False
    # the decoder's input in the last iteration of mask-predict; None after a search for next tokens
    fed_ids: tuple[int, ...] | None = None

    def continued(self, token_id: int, token_log_prob: float, options: SearchOptions) -> "Hypothesis":
        """This hypothesis with one more token."""
        log_prob = self.log_prob + token_log_prob
        return Hypothesis(
            token_ids=(*self.token_ids, token_id),
            token_log_probs=(*self.token_log_probs, token_log_prob),
            log_prob=log_prob,
            score=options.score(log_prob, len(self.token_ids) + 1),
            finished=options.ends and token_id == options.eos_id,
        )


class Candidate(NamedTuple):
    """One of the best continuations at a position."""

    parent: int  # index, among the live hypotheses of the previous position, of the one it continues
    token_id: int
    token_log_prob: float  # log-probability of `token_id` given the parent, in nats
    log_prob: float  # log-probability of the whole hypothesis, `token_id` included, in nats
    fate: Fate  # `live` (kept in the beam), `finished` (ended with `</s>`) or `pruned` (ranked below the beam)


@dataclass(frozen=True)
class BeamState:
    """The search for one sentence after one position."""

    sentence: int  # row of the sentence in the initial batch
    position: int  # number of target tokens so far
    limit: int  # largest number of target tokens allowed
    # the best 2 x beam_size continuations (fewer if the vocabulary is smaller), best first
    candidates: tuple[Candidate, ...]
    # hypotheses that remain in the beam, best first: the candidates with fate `live`, in the same order
    live: tuple[Hypothesis, ...]
    # for each live hypothesis, the index of its parent among the live hypotheses of the previous position
    parents: tuple[int, ...]
    finished: tuple[Hypothesis, ...]  # all hypotheses finished so far, best score first
    # reason for stopping after this position, None to continue: no live hypothesis can still win (`cannot_win`),
    # beam_size hypotheses have finished (`beam_finished`), or `limit` is reached (`limit`)
    stop: Stop | None


def best_hypotheses(state: BeamState, options: SearchOptions) -> tuple[Hypothesis, ...]:
    """Best hypotheses if the search ended at this state: finished ones first, then live ones, best first."""
    return (state.finished + state.live)[: options.num_hypotheses]
