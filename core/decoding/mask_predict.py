"""Mask-predict over any scorer of masked tokens (Ghazvininejad et al. 2019, 3).

All tokens of a translation of given length are predicted at once. Then, iteration by iteration, the least probable of
them are masked and predicted again, given the others: after iteration t of T, n = floor(N (T - t) / T) of N tokens.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from core.decoding.next_tokens import NonFiniteError, most_probable_tokens
from core.decoding.states import Hypothesis
from core.files.number_range import NumberRange

ITERATIONS = LENGTH_CANDIDATES = NumberRange(int, 1, 64)


@dataclass(frozen=True, kw_only=True)
class MaskPredictOptions:
    """Options of mask-predict.

    Raises:
        ValueError: a value is out of range.
    """

    mask_id: int
    eos_id: int
    pad_id: int
    never: tuple[int, ...]  # ids that are not generated, besides `mask_id` and `eos_id`, which only ends a translation
    iterations: int = 10  # largest number of predictions, T
    length_candidates: int = 5  # number of lengths that are tried for each sentence

    def __post_init__(self) -> None:
        ITERATIONS.check("iterations", self.iterations)
        LENGTH_CANDIDATES.check("length_candidates", self.length_candidates)

    @property
    def excluded(self) -> tuple[int, ...]:
        """Ids that are not generated."""
        return tuple({self.mask_id, self.eos_id, self.pad_id, *self.never})


@dataclass(frozen=True)
class Length:
    """A length candidate of a sentence."""

    tokens: int  # number of target tokens, `</s>` included, at least 2
    log_prob: float  # of this length, in nats


@dataclass(frozen=True)
class MaskPredictState:
    """One length candidate of a sentence after one iteration."""

    sentence: int  # index of the sentence
    candidate: int  # index of the length candidate
    length: Length  # the candidate
    iteration: int  # counted from 1
    fed_ids: tuple[int, ...]  # input of the decoder, `</s>` last; tokens to be predicted are the mask token
    token_ids: tuple[int, ...]  # tokens after this iteration, `</s>` last
    # log-probability of each when it was last predicted, in nats; of `</s>`, that of the length
    token_log_probs: tuple[float, ...]
    masked_next: tuple[int, ...]  # positions that the next iteration predicts again, in order; empty after the last

    @property
    def hypothesis(self) -> Hypothesis:
        """The current translation, scored by the mean log-probability of its tokens without `</s>`."""
        *of_tokens, of_length = self.token_log_probs
        total = sum(of_tokens)
        score = total / len(of_tokens)
        return Hypothesis(self.token_ids, self.token_log_probs, total + of_length, score, True, self.fed_ids)


class MaskedLogits(Protocol):
    """Scorer of masked tokens that mask-predict runs on."""

    def __call__(self, fed: Tensor, masked: Tensor, rows: Tensor, /) -> Tensor:
        """Logits of the tokens at masked positions.

        Args:
            fed: [R, T] padded targets, with the mask token at masked positions.
            masked: [R, T] boolean.
            rows: [R] number of each target among all length candidates of all sentences, in this order.

        Returns:
            [M, V] logits of the M masked positions, in the order of `fed[masked]`.
        """
        ...


def mask_predict(
    masked_logits: MaskedLogits,
    lengths: Sequence[Sequence[Length]],
    options: MaskPredictOptions,
    device: torch.device | str = "cpu",
) -> list[tuple[Hypothesis, ...]]:
    """One hypothesis for each length candidate of each sentence, best score first; see `mask_predict_steps`."""
    last: dict[tuple[int, int], MaskPredictState] = {}
    for states in mask_predict_steps(masked_logits, lengths, options, device):
        last.update(((state.sentence, state.candidate), state) for state in states)
    return [best_lengths([last[sentence, number] for number in range(len(of))]) for sentence, of in enumerate(lengths)]


def best_lengths(states: Sequence[MaskPredictState]) -> tuple[Hypothesis, ...]:
    """Hypotheses of a sentence's length candidates, best score first and, of equal scores, likelier length first."""
    return tuple(sorted((state.hypothesis for state in states), key=lambda hypothesis: -hypothesis.score))


def best_length(steps: Iterable[Sequence[MaskPredictState]]) -> list[MaskPredictState]:
    """Iterations of the best length candidate of one sentence, of the states that `mask_predict_steps` yields."""
    states = [state for step in steps for state in step]
    last = {state.candidate: state for state in states}
    best = max(last.values(), key=lambda state: state.hypothesis.score).candidate
    return [state for state in states if state.candidate == best]


@torch.inference_mode()
def mask_predict_steps(
    masked_logits: MaskedLogits,
    lengths: Sequence[Sequence[Length]],
    options: MaskPredictOptions,
    device: torch.device | str = "cpu",
) -> Iterator[tuple[MaskPredictState, ...]]:
    """Mask-predict, one iteration at a time.

    Args:
        masked_logits: see `MaskedLogits`. Candidates of which nothing is masked any more leave the batch.
        lengths: candidates of each sentence, most probable first.

    Yields:
        For each iteration a state for each candidate that it predicted, in the order of sentences and candidates.

    Raises:
        NonFiniteError: no token of a masked position has a finite log-probability.
    """
    places = [(sentence, number) for sentence, of in enumerate(lengths) for number in range(len(of))]
    of_rows = [length for of in lengths for length in of]
    ends = torch.tensor([length.tokens - 1 for length in of_rows], device=device)[:, None]
    token_ids = pad_sequence(
        [torch.tensor([options.mask_id] * (length.tokens - 1) + [options.eos_id]) for length in of_rows],
        batch_first=True,
        padding_value=options.pad_id,
    ).to(device)
    log_probs = torch.zeros(token_ids.shape, device=device)
    rows = torch.arange(len(places), device=device)
    masked = torch.arange(token_ids.size(1), device=device) < ends  # [R, T]
    for iteration in range(1, options.iterations + 1):
        fed = token_ids[rows].masked_fill(masked, options.mask_id)
        best, best_log_probs = most_probable_tokens(masked_logits(fed, masked, rows)[None], 1, options.excluded)
        if (best_log_probs == -torch.inf).any():
            raise NonFiniteError(f"in iteration {iteration}")
        predicted, of_predicted = fed.clone(), log_probs[rows]
        predicted[masked], of_predicted[masked] = best.flatten(), best_log_probs.flatten()
        token_ids[rows], log_probs[rows] = predicted, of_predicted
        counts = ends[rows] * (options.iterations - iteration) // options.iterations  # [R, 1]
        masked = _least_probable(of_predicted, ends[rows], counts)
        yield tuple(
            _state(places[row], of_rows[row], iteration, *values)
            for row, *values in zip(
                rows.tolist(), fed.tolist(), predicted.tolist(), of_predicted.tolist(), masked.tolist(), strict=True
            )
        )
        left = masked.any(1)
        rows, masked = rows[left], masked[left]
        if not len(rows):
            return


def _least_probable(log_probs: Tensor, ends: Tensor, counts: Tensor) -> Tensor:
    """Mask the `counts` [R, 1] least probable of each row's first `ends` [R, 1] tokens: [R, T] -> [R, T] boolean."""
    before_end = torch.arange(log_probs.size(1), device=log_probs.device) < ends
    order = log_probs.masked_fill(~before_end, torch.inf).argsort(dim=1, stable=True)
    return order.argsort(dim=1) < counts


def _state(
    place: tuple[int, int],
    length: Length,
    iteration: int,
    fed: list[int],
    token_ids: list[int],
    log_probs: list[float],
    masked: list[bool],
) -> MaskPredictState:
    count = length.tokens
    return MaskPredictState(
        *place,
        length=length,
        iteration=iteration,
        fed_ids=tuple(fed[:count]),
        token_ids=tuple(token_ids[:count]),
        token_log_probs=(*log_probs[: count - 1], length.log_prob),
        masked_next=tuple(position for position in range(count) if masked[position]),
    )
