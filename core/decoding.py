"""Greedy and beam search over any scorer of next tokens.

Beam search as in section 6.1 of the paper: hypotheses are ranked by log-probability divided by the length penalty
((5 + length) / 6)^alpha of Wu et al. 2016, where length counts all target tokens, `</s>` included. Other projects
divide by length^alpha.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor
from torch.nn import functional as F

from core.config import PenaltyFormula
from core.native import library as native

MAX_BEAM_SIZE = 64
MAX_LENGTH_PENALTY = 5.0
BLOCK, MANY_VALUES = 64, 2**16  # columns of a block of `top_k`, and number of values from which blocks are faster

_T = TypeVar("_T")
Fate = Literal["live", "finished", "pruned"]
Stop = Literal["cannot_win", "beam_finished", "limit"]
Progress = Callable[[int, int], None]  # called with the amount done and the total


class NonFiniteError(ValueError):
    """Outputs of the model are NaN or infinite."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"the model's outputs are not finite (NaN or infinite) {where}: its weights are damaged, or the training "
            f"diverged; use another checkpoint"
        )


class NextLogits(Protocol):
    """Scorer of next tokens that a search runs on."""

    def __call__(self, token_ids: Tensor, parents: Tensor, sentences: Tensor | None, /) -> Tensor:
        """Logits of the next token for W hypotheses of each of B sentences.

        Args:
            token_ids: [B, W] last token of each hypothesis.
            parents: [B, W] index of each one's parent among the hypotheses of the previous call; zeros in the first
                call.
            sentences: [B] rows of the previous call's batch that remain, None if all do.

        Returns:
            [B, W, V] logits.
        """
        ...


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
        return log_prob / (length if self.penalty_formula == "length" else (5 + length) / 6) ** self.length_penalty

    @property
    def excluded(self) -> tuple[int, ...]:
        """Ids that are not generated."""
        return tuple({self.bos_id, *self.never} - {self.eos_id})


@dataclass(frozen=True)
class Hypothesis:
    """A translation, finished or not.

    Attributes:
        token_ids: without `<s>`; the last is `</s>` if and only if it is finished.
        token_log_probs: log-probability of each token given the tokens before it, in nats.
        log_prob: their sum.
        score: `log_prob` divided by the length penalty.
    """

    token_ids: tuple[int, ...] = ()
    token_log_probs: tuple[float, ...] = ()
    log_prob: float = 0.0
    score: float = 0.0
    finished: bool = False


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


class _Continuations(NamedTuple):
    """Best continuations of one sentence's hypotheses, best first; see `Candidate`.

    As columns. Impossible ones, with a log-probability of minus infinity, come last.
    """

    parents: list[int]
    token_ids: list[int]
    token_log_probs: list[float]
    log_probs: list[float]


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


@torch.inference_mode()
def greedy_search(
    next_logits: NextLogits, limits: Sequence[int], options: SearchOptions, device: torch.device | str = "cpu"
) -> list[Hypothesis]:
    """Take the most probable token at every position, until `</s>`.

    Args:
        limits: largest number of tokens of each translation.
        options: beam size and number of hypotheses are ignored.

    Returns:
        One hypothesis for each sentence; not `finished` if it reached its limit.

    Raises:
        NonFiniteError: no token has a finite log-probability.
    """
    found: list[Hypothesis] = [Hypothesis()] * len(limits)
    searched, sentences = list(range(len(limits))), None
    token_ids = torch.full((len(limits), 1), options.bos_id, device=device)
    while searched:
        logits = next_logits(token_ids, torch.zeros_like(token_ids), sentences)
        best = _most_probable_tokens(logits, 1, options)
        tokens: list[int] = best[0].flatten().tolist()
        token_log_probs: list[float] = best[1].flatten().tolist()
        for sentence, token_id, token_log_prob in zip(searched, tokens, token_log_probs, strict=True):
            if token_log_prob == -torch.inf:
                raise NonFiniteError(f"at position {len(found[sentence].token_ids) + 1}")
            found[sentence] = _continued(found[sentence], token_id, token_log_prob, options)
        kept = [
            row
            for row, sentence in enumerate(searched)
            if not found[sentence].finished and len(found[sentence].token_ids) < limits[sentence]
        ]
        sentences = torch.tensor(kept, device=device) if len(kept) < len(searched) else None
        searched = [searched[row] for row in kept]
        token_ids = torch.tensor([[tokens[row]] for row in kept], device=device)
    return found


def beam_search(
    next_logits: NextLogits,
    limits: Sequence[int],
    options: SearchOptions,
    device: torch.device | str = "cpu",
    prefixes: Sequence[Sequence[int]] | None = None,
) -> list[tuple[Hypothesis, ...]]:
    """Best `options.num_hypotheses` of each sentence, best first; see `beam_steps`.

    Hypotheses that reached the limit come last, and only if too few have finished.
    """
    last: dict[int, BeamState] = {}
    for states in beam_steps(next_logits, limits, options, device, prefixes):
        last.update((state.sentence, state) for state in states)
    return [best_hypotheses(last[sentence], options) for sentence in range(len(limits))]


def run_search(
    states: Iterable[BeamState], options: SearchOptions, progress: Progress | None = None
) -> tuple[Hypothesis, ...]:
    """Run the search for one sentence to its end.

    Args:
        states: the states of one sentence, from its first position on.
        progress: called after each position with the position and the limit.

    Returns:
        The best `options.num_hypotheses`, best first.
    """
    state = None
    for state in states:
        if progress:
            progress(state.position, state.limit)
    assert state is not None  # a limit is at least one position
    return best_hypotheses(state, options)


def best_hypotheses(state: BeamState, options: SearchOptions) -> tuple[Hypothesis, ...]:
    """Best hypotheses if the search ended at this state, best first.

    Finished hypotheses precede live ones.
    """
    return (state.finished + state.live)[: options.num_hypotheses]


@torch.inference_mode()
def beam_steps(
    next_logits: NextLogits,
    limits: Sequence[int],
    options: SearchOptions,
    device: torch.device | str = "cpu",
    prefixes: Sequence[Sequence[int]] | None = None,
) -> Iterator[tuple[BeamState, ...]]:
    """Beam search, one position at a time.

    At each position the 2 x beam_size best continuations are considered. Those among the first beam_size that end with
    `</s>` are finished; of the others the first beam_size stay live. The search for a sentence stops when beam_size
    hypotheses have finished (so a beam of one is greedy search; later without `early_stopping`), at its limit, or,
    without any change to the result, when no live hypothesis can still be among the best `num_hypotheses`:
    log-probabilities only decrease, so no descendant scores above log_prob / penalty(limit).

    Args:
        next_logits: see `NextLogits`. Sentences whose search has stopped leave the batch.
        limits: largest number of tokens of each translation.
        prefixes: tokens that each translation is forced to begin with. Each of their positions has one candidate,
            scored like any other; the beam opens after them. A prefix that ends with `</s>` is a whole translation, and
            is only scored.

    Yields:
        For each position a state for each sentence whose search has not stopped.

    Raises:
        ValueError: a prefix does not fit below its limit, has `</s>` before its end, or has tokens that are never
            generated.
        NonFiniteError: no continuation of a sentence has a finite log-probability.
    """
    forced = [tuple(prefix) for prefix in prefixes or [()] * len(limits)]
    for prefix, limit in zip(forced, limits, strict=True):
        check_prefix(prefix, limit, options)
    searched: list[int] = list(range(len(limits)))
    live: list[tuple[Hypothesis, ...]] = [(Hypothesis(),)] * len(limits)
    finished: list[tuple[Hypothesis, ...]] = [()] * len(limits)
    parents: list[tuple[int, ...]] = [(0,)] * len(limits)
    sentences: Tensor | None = None
    while searched:
        width = max(len(hypotheses) for hypotheses in live)  # shorter rows are padded with impossible hypotheses
        last_tokens = [[h.token_ids[-1] if h.token_ids else options.bos_id for h in hypotheses] for hypotheses in live]
        token_ids = torch.tensor([_filled(row, width, options.eos_id) for row in last_tokens], device=device)
        log_probs = torch.tensor(
            [_filled([h.log_prob for h in hypotheses], width, -torch.inf) for hypotheses in live], device=device
        )
        parent_rows = torch.tensor([_filled(row, width, 0) for row in parents], device=device)
        logits = next_logits(token_ids, parent_rows, sentences)
        continuations = _best_continuations(logits, log_probs, options)
        for row, sentence in enumerate(searched):
            (first, *_), prefix = live[row], forced[sentence]
            if len(first.token_ids) < len(prefix):
                certain = options.first_is_certain and not first.token_ids
                continuations[row] = _forced_continuation(logits[row, 0], first, prefix[len(first.token_ids)], certain)
            if not any(map(math.isfinite, continuations[row].log_probs)):
                raise NonFiniteError(f"at position {len(first.token_ids) + 1}")
        states = tuple(
            _advance(sentence, hypotheses, ended, best, limits[sentence], options)
            for sentence, hypotheses, ended, best in zip(searched, live, finished, continuations, strict=True)
        )
        yield states
        kept = [row for row, state in enumerate(states) if state.stop is None]
        sentences = torch.tensor(kept, device=device) if len(kept) < len(searched) else None
        searched = [searched[row] for row in kept]
        live, parents, finished = (
            [states[row].live for row in kept],
            [states[row].parents for row in kept],
            [states[row].finished for row in kept],
        )


def _filled(row: Sequence[_T], width: int, filler: _T) -> list[_T]:
    return [*row, *[filler] * (width - len(row))]


def _most_probable_tokens(logits: Tensor, count: int, options: SearchOptions) -> tuple[Tensor, Tensor]:
    """Best tokens of each hypothesis, best first, from logits [B, W, V].

    If logits are NaN or plus infinity, all log-probabilities of that hypothesis are minus infinity.

    Returns:
        Ids and log-probabilities, [B, W, count] each.
    """
    excluded, count = options.excluded, min(count, logits.size(-1))
    if (compiled := native.library()) and logits.device.type == "cpu" and logits.dtype == torch.float32:
        return native.best_tokens(compiled, logits, count, excluded)
    log_probs = logits.log_softmax(-1)
    for token_id in excluded:
        log_probs[..., token_id] = -torch.inf
    values, token_ids = top_k(log_probs, count)
    return token_ids, values.masked_fill(values.isnan(), -torch.inf)  # NaN ranks above all numbers


def top_k(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """`values.topk(count)`, five times as fast for many values.

    The `count` largest values are in the `count` blocks of columns with the largest maxima, or after the last whole
    block.

    Returns:
        The largest values of each row of [..., V] and their columns, largest first: [..., count] each.
    """
    num_blocks = values.size(-1) // BLOCK
    if num_blocks <= count or values.numel() < MANY_VALUES:
        return values.topk(count)
    in_blocks = values[..., : num_blocks * BLOCK].unflatten(-1, (num_blocks, BLOCK))
    rest = values[..., num_blocks * BLOCK :]
    chosen = in_blocks.amax(-1).topk(count, sorted=False).indices  # [..., count]
    inside = in_blocks.gather(-2, chosen[..., None].expand(*chosen.shape, BLOCK)).flatten(-2)
    greatest, places = torch.cat((inside, rest), -1).topk(count)
    blocks = F.pad(chosen, (0, 1), value=num_blocks).gather(-1, places // BLOCK)
    return greatest, blocks * BLOCK + places % BLOCK


def _best_continuations(logits: Tensor, log_probs: Tensor, options: SearchOptions) -> list[_Continuations]:
    """The 2 x beam_size best continuations of each sentence.

    Args:
        logits: [B, W, V]
        log_probs: [B, W] of the hypotheses.
    """
    tokens, token_log_probs = _most_probable_tokens(logits, 2 * options.beam_size, options)  # [B, W, C]
    totals = (log_probs[:, :, None] + token_log_probs).flatten(1)
    top = totals.topk(min(2 * options.beam_size, totals.size(1)))
    parents: list[list[int]] = (top.indices // tokens.size(2)).tolist()
    token_ids: list[list[int]] = tokens.flatten(1).gather(1, top.indices).tolist()
    own: list[list[float]] = token_log_probs.flatten(1).gather(1, top.indices).tolist()
    whole: list[list[float]] = top.values.tolist()
    return list(map(_Continuations, parents, token_ids, own, whole))


def _forced_continuation(
    logits: Tensor, hypothesis: Hypothesis, token_id: int, certain: bool = False
) -> _Continuations:
    """The forced token as the only continuation. Args: logits [V]."""
    token_log_prob = 0.0 if certain else float(logits.log_softmax(-1)[token_id])
    return _Continuations([0], [token_id], [token_log_prob], [hypothesis.log_prob + token_log_prob])


def check_prefix(prefix: Sequence[int], limit: int, options: SearchOptions) -> None:
    """Check that a translation can begin with the prefix.

    Raises:
        ValueError: it cannot; see `beam_steps`.
    """
    never = options.excluded
    for position, token_id in enumerate(prefix):
        if token_id in never:
            raise ValueError(
                f"token {position + 1} of the prefix is {token_id}, which is never generated: leave it out"
            )
        if token_id == options.eos_id and position + 1 < len(prefix):
            raise ValueError(
                f"token {position + 1} of the prefix ends the translation, but {len(prefix) - position - 1} more "
                f"follow: remove them or it"
            )
    whole = bool(prefix) and prefix[-1] == options.eos_id
    if len(prefix) > limit - (not whole):
        raise ValueError(
            f"the prefix has {len(prefix)} tokens, which leaves no room for more: a translation of this text may have "
            f"{limit}; shorten the prefix"
        )


def _advance(
    sentence: int,
    live: tuple[Hypothesis, ...],
    finished: tuple[Hypothesis, ...],
    continuations: _Continuations,
    limit: int,
    options: SearchOptions,
) -> BeamState:
    """Advance one sentence by one position: select survivors, decide whether to stop."""
    candidates: list[Candidate] = []
    survivors: list[Hypothesis] = []
    parents: list[int] = []
    ended = list(finished)
    for rank, (parent, token_id, token_log_prob, log_prob) in enumerate(zip(*continuations, strict=True)):
        if log_prob == -torch.inf:
            break
        fate: Fate = "pruned"
        if token_id == options.eos_id and rank < options.beam_size:
            fate = "finished"
            ended.append(_continued(live[parent], token_id, token_log_prob, options))
        elif token_id != options.eos_id and len(survivors) < options.beam_size:
            fate = "live"
            survivors.append(_continued(live[parent], token_id, token_log_prob, options))
            parents.append(parent)
        candidates.append(Candidate(parent, token_id, token_log_prob, log_prob, fate))
    ended.sort(key=lambda hypothesis: -hypothesis.score)  # stable: the earlier of equal scores stays ahead
    position = len(live[0].token_ids) + 1
    return BeamState(
        sentence=sentence,
        position=position,
        limit=limit,
        candidates=tuple(candidates),
        live=tuple(survivors),
        parents=tuple(parents),
        finished=tuple(ended),
        stop=_stop(position, survivors, ended, limit, options),
    )


def _continued(hypothesis: Hypothesis, token_id: int, token_log_prob: float, options: SearchOptions) -> Hypothesis:
    log_prob = hypothesis.log_prob + token_log_prob
    return Hypothesis(
        token_ids=(*hypothesis.token_ids, token_id),
        token_log_probs=(*hypothesis.token_log_probs, token_log_prob),
        log_prob=log_prob,
        score=options.score(log_prob, len(hypothesis.token_ids) + 1),
        finished=token_id == options.eos_id,
    )


def _stop(
    position: int, live: Sequence[Hypothesis], finished: Sequence[Hypothesis], limit: int, options: SearchOptions
) -> Stop | None:
    """Reason to stop after this position, None to continue; see `beam_steps`."""
    if position >= limit:
        return "limit"
    if not live:
        return "beam_finished" if len(finished) >= options.beam_size else "cannot_win"
    if len(finished) >= options.beam_size:
        present = options.score(max(hypothesis.log_prob for hypothesis in live), position)
        if options.early_stopping or present <= finished[options.beam_size - 1].score:
            return "beam_finished"
    if len(finished) >= options.num_hypotheses:
        best_possible = options.score(max(hypothesis.log_prob for hypothesis in live), limit)
        if best_possible <= finished[options.num_hypotheses - 1].score:
            return "cannot_win"
    return None
