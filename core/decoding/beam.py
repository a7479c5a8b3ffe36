"""Beam search over any scorer of next tokens (6.1).

Hypotheses are ranked by log-probability divided by the length penalty ((5 + length) / 6)^alpha of Wu et al. 2016, where
length counts all target tokens, `</s>` included. Other projects divide by length^alpha.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from core.decoding.constraints import Beginning
from core.decoding.next_tokens import NextLogits, best_continuations, most_probable_tokens, no_token_error
from core.decoding.states import BeamState, Candidate, Fate, Hypothesis, SearchOptions, Stop, best_hypotheses

_T = TypeVar("_T")
Progress = Callable[[int, int], None]  # called with the amount done and the total


def beam_search(
    next_logits: NextLogits,
    limits: Sequence[int],
    options: SearchOptions,
    device: torch.device | str = "cpu",
    prefixes: Sequence[Beginning | Sequence[int]] | None = None,
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
    """Run the search for one sentence, whose states begin at its first position; return its `num_hypotheses` best."""
    state = None
    for state in states:
        if progress:
            progress(state.position, state.limit)
    assert state is not None  # a limit is at least one position
    return best_hypotheses(state, options)


@torch.inference_mode()
def beam_steps(
    next_logits: NextLogits,
    limits: Sequence[int],
    options: SearchOptions,
    device: torch.device | str = "cpu",
    prefixes: Sequence[Beginning | Sequence[int]] | None = None,
) -> Iterator[tuple[BeamState, ...]]:
    """Beam search, one position at a time.

    At each position the 2 x beam_size best continuations are considered. Those among the first beam_size that end with
    `</s>` are finished; of the others the first beam_size stay live. The search for a sentence stops when beam_size
    hypotheses have finished, even if a live one would lead to a better one (so a beam of one is greedy search; later
    without `early_stopping`), at its limit, or, without any change to the result, when no live hypothesis can still be
    among the best `num_hypotheses`: log-probabilities only decrease, so no descendant scores above
    log_prob / penalty(limit).

    Args:
        next_logits: see `NextLogits`. Sentences whose search has stopped leave the batch.
        limits: largest number of tokens of each translation.
        prefixes: what each translation begins with. The position of a forced token has one candidate, scored like any
            other; where a text is not yet complete, only the tokens that go on with it are candidates. A prefix that
            ends with `</s>` is a whole translation, and is only scored.

    Yields:
        For each position a state for each sentence whose search has not stopped.

    Raises:
        ValueError: a prefix does not fit below its limit, has `</s>` before its end, or has tokens that are never
            generated or that the constraints forbid; or these leave no room for `</s>`.
        NonFiniteError: no continuation of a sentence has a finite log-probability.
    """
    begun = [each if isinstance(each, Beginning) else Beginning(tuple(each)) for each in prefixes or [()] * len(limits)]
    for beginning, limit in zip(begun, limits, strict=True):
        check_beginning(beginning, limit, options)
    searched: list[int] = list(range(len(limits)))
    live: list[tuple[Hypothesis, ...]] = [(Hypothesis(),)] * len(limits)
    finished: list[tuple[Hypothesis, ...]] = [()] * len(limits)
    parents: list[tuple[int, ...]] = [(0,)] * len(limits)
    sentences: Tensor | None = None
    while searched:
        token_ids, log_probs, parent_rows = _padded(live, parents, options, device)
        logits = next_logits(token_ids, parent_rows, sentences)
        position = len(live[0][0].token_ids)
        best = best_continuations(logits, log_probs, 2 * options.beam_size, options.excluded_at(position))
        continuations = list(map(_Continuations, *(each.tolist() for each in best)))
        for row, sentence in enumerate(searched):
            room = limits[sentence] - 1 - position
            allowed = [begun[sentence].allowed(hypothesis.token_ids, room) for hypothesis in live[row]]
            begins = any(each is not None for each in allowed)
            if begins:
                continuations[row] = _allowed_continuations(logits[row], live[row], allowed, options)
            if not any(map(math.isfinite, continuations[row].log_probs)):
                rest = begun[sentence].text if begins and not continuations[row].token_ids else b""
                raise no_token_error(position, options.excluded_at(position), logits.size(-1), rest)
        states = tuple(
            _advance(sentence, hypotheses, ended, of_one, limits[sentence], options)
            for sentence, hypotheses, ended, of_one in zip(searched, live, finished, continuations, strict=True)
        )
        yield states
        kept = _closed_up([state.stop is None for state in states])
        sentences = torch.tensor(kept, device=device) if len(kept) < len(searched) else None
        searched = [searched[row] for row in kept]
        live = [states[row].live for row in kept]
        parents = [states[row].parents for row in kept]
        finished = [states[row].finished for row in kept]


def _closed_up(stays: Sequence[bool]) -> list[int]:
    """Replace finished rows by the last ones, so that few rows of the caches move."""
    count = sum(stays)
    behind = iter([row for row in range(count, len(stays)) if stays[row]])
    return [row if stays[row] else next(behind) for row in range(count)]


def _padded(
    live: Sequence[Sequence[Hypothesis]],
    parents: Sequence[Sequence[int]],
    options: SearchOptions,
    device: torch.device | str,
) -> tuple[Tensor, Tensor, Tensor]:
    """Last token, log-probability and parent of each hypothesis, [B, W] each, padded with impossible hypotheses."""
    width = max(map(len, live))
    last_tokens = [[h.token_ids[-1] if h.token_ids else options.bos_id for h in hypotheses] for hypotheses in live]
    log_probs = [_filled([h.log_prob for h in hypotheses], width, -torch.inf) for hypotheses in live]
    token_ids = [_filled(row, width, options.eos_id) for row in last_tokens]
    parent_rows = [_filled(row, width, 0) for row in parents]
    integers = torch.tensor([token_ids, parent_rows], device=device)
    return integers[0], torch.tensor(log_probs, device=device), integers[1]


def _filled(row: Sequence[_T], width: int, filler: _T) -> Sequence[_T]:
    return row if len(row) == width else [*row, *[filler] * (width - len(row))]


class _Continuations(NamedTuple):
    """Best continuations of one sentence's hypotheses as columns, best first; see `Candidate`.

    Impossible ones, with a log-probability of minus infinity, come last.
    """

    parents: list[int]
    token_ids: list[int]
    token_log_probs: list[float]
    log_probs: list[float]


def _allowed_continuations(
    logits: Tensor, live: Sequence[Hypothesis], allowed: Sequence[Sequence[int] | None], options: SearchOptions
) -> _Continuations:
    """The 2 x beam_size best continuations of one sentence, logits [W, V], whose beginning is not complete in all."""
    position, found = len(live[0].token_ids), list[tuple[int, int, float, float]]()
    excluded = options.excluded_at(position)
    for parent, (hypothesis, ids) in enumerate(zip(live, allowed, strict=True)):
        if ids is None:
            tokens, values = most_probable_tokens(logits[None, None, parent], 2 * options.beam_size, excluded)
            ids, log_probs = tokens.flatten().tolist(), values.flatten().tolist()
        else:
            ids = [token_id for token_id in ids if token_id not in excluded]
            log_probs = logits[parent].log_softmax(-1)[ids].nan_to_num(-torch.inf).tolist()
            if options.first_is_certain and not position:
                log_probs = [0.0] * len(ids)
        scored = zip(ids, log_probs, strict=True)
        found += [(parent, token_id, log_prob, hypothesis.log_prob + log_prob) for token_id, log_prob in scored]
    found.sort(key=lambda each: -each[3])
    best = found[: 2 * options.beam_size]
    return _Continuations(
        [each[0] for each in best], [each[1] for each in best], [each[2] for each in best], [each[3] for each in best]
    )


def check_beginning(beginning: Beginning, limit: int, options: SearchOptions) -> None:
    """Check that a translation can begin so.

    Raises:
        ValueError: it cannot; see `beam_steps`.
    """
    prefix, never = beginning.token_ids, options.excluded
    options.constraints.check_limit(limit)
    for position, token_id in enumerate(prefix):
        if token_id in never:
            raise ValueError(
                f"token {position + 1} of the prefix is {token_id}, which is never generated: leave it out"
            )
        if token_id in options.excluded_at(position):
            raise ValueError(
                f"token {position + 1} of the prefix is {token_id}, which the constraints forbid there: leave it out, "
                f"or allow it"
            )
        if token_id == options.eos_id and position + 1 < len(prefix):
            raise ValueError(
                f"token {position + 1} of the prefix ends the translation, but {len(prefix) - position - 1} more "
                f"follow: remove them or it"
            )
    whole = bool(prefix) and prefix[-1] == options.eos_id
    if beginning.least_tokens > limit - (not whole):
        raise ValueError(
            f"the prefix has {beginning.least_tokens:.0f} tokens, which leaves no room for more: a translation of this "
            f"text may have {limit}; shorten the prefix"
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
            ended.append(live[parent].continued(token_id, token_log_prob, options))
        elif token_id != options.eos_id and len(survivors) < options.beam_size:
            fate = "live"
            survivors.append(live[parent].continued(token_id, token_log_prob, options))
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
