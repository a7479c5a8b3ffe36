"""Options of greedy and beam search."""

from dataclasses import dataclass

from core.model.config_fields import PenaltyFormula

MAX_BEAM_SIZE = 64
MAX_LENGTH_PENALTY = 5.0


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Options of a search.

    Attributes:
        never: ids that are not generated, such as padding; `bos_id` never is, unless it is also `eos_id`.
        beam_size: number of live hypotheses at a position.
        length_penalty: alpha; 0 ranks by log-probability alone, larger values favour longer hypotheses.
        num_hypotheses: number of hypotheses to return.
        penalty_formula, early_stopping: see `TransformerConfig`.
        first_is_certain: the first token of a prefix is given by the task, such as the language of the target, and
            counts with a probability of one.

    Raises:
        ValueError: a value is out of range.
    """

    bos_id: int
    eos_id: int
    never: tuple[int, ...]
    beam_size: int = 4
    length_penalty: float = 0.6
    num_hypotheses: int = 1
    penalty_formula: PenaltyFormula = "paper"
    early_stopping: bool = True
    first_is_certain: bool = False

    def __post_init__(self) -> None:
        if (
            isinstance(self.beam_size, bool)
            or not isinstance(self.beam_size, int)
            or not 1 <= self.beam_size <= MAX_BEAM_SIZE
        ):
            raise ValueError(f"beam_size ({self.beam_size!r}) must be an integer from 1 to {MAX_BEAM_SIZE}")
        if not isinstance(self.length_penalty, int | float) or not 0 <= self.length_penalty <= MAX_LENGTH_PENALTY:
            raise ValueError(
                f"length_penalty ({self.length_penalty!r}) must be a number from 0 to {MAX_LENGTH_PENALTY:g}"
            )
        if (
            isinstance(self.num_hypotheses, bool)
            or not isinstance(self.num_hypotheses, int)
            or not 1 <= self.num_hypotheses <= self.beam_size
        ):
            raise ValueError(
                f"num_hypotheses ({self.num_hypotheses!r}) must be an integer from 1 to beam_size ({self.beam_size})"
            )

    def score(self, log_prob: float, length: int) -> float:
        """Score that hypotheses are ranked by."""
        return log_prob / penalised_length(length, self.penalty_formula) ** self.length_penalty

    @property
    def excluded(self) -> tuple[int, ...]:
        """Ids that are not generated."""
        return tuple({self.bos_id, *self.never} - {self.eos_id})


def penalised_length(length: int, formula: PenaltyFormula) -> float:
    """Base of the length penalty; the length, in tokens, includes `</s>`."""
    return float(max(length, 1)) if formula == "length" else (5 + length) / 6  # a beginning may be empty
