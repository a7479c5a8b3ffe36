"""Speculative decoding: a small model drafts several tokens, which a large one checks at once.

Greedy, as Stern et al. 2018 (section 3) verify the tokens of their parallel heads: a drafted token is accepted if it is
the large model's own choice, so the result is that of greedy search. For sampling, Leviathan et al. 2023 and Chen et
al. 2023 accept at random instead.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from core.decoding.next_tokens import NonFiniteError, most_probable_tokens
from core.decoding.states import Hypothesis, SearchOptions
from core.files.number_range import NumberRange

MAX_DRAFT_TOKENS = 32


class ChainLogits(Protocol):
    """Scorer of next tokens along one target."""

    def __call__(self, token_ids: Sequence[int], start: int, /) -> Tensor:
        """Logits of the token after each of n tokens.

        Args:
            token_ids: the target's tokens from position `start` on, `<s>` being at 0.
            start: at most the number of tokens of the call before; those from there on are dropped.

        Returns:
            [n, V] logits.
        """
        ...


@dataclass(frozen=True)
class SpeculativeStep:
    """One check of drafted tokens by the large model."""

    drafted: tuple[int, ...]  # tokens that the small model proposed
    accepted: int  # number of them, from the first on, that the large model chooses too
    # tokens this step adds: the accepted ones and, unless they end in `</s>` or at the limit, the large model's next
    added: tuple[int, ...]
    hypothesis: Hypothesis  # the translation so far


@torch.inference_mode()
def speculative_steps(
    model: ChainLogits, draft: ChainLogits, limit: int, options: SearchOptions, draft_tokens: int = 4
) -> Iterator[SpeculativeStep]:
    """Greedy search with a draft model, one check at a time.

    Args:
        model, draft: scorers of one sentence with the same vocabulary.
        limit: largest number of tokens of the translation.
        options: of the search, with a beam of one.
        draft_tokens: largest number of tokens that are drafted for a check.

    Raises:
        ValueError: `draft_tokens` is out of range, the beam is larger, or the constraints leave no room for `</s>`.
        NonFiniteError: no token has a finite log-probability.
    """
    NumberRange(int, 1, MAX_DRAFT_TOKENS).check("draft_tokens", draft_tokens)
    if options.beam_size != 1:
        raise ValueError(
            f"beam_size ({options.beam_size}) must be 1 for speculative decoding: only greedy search has its result"
        )
    options.constraints.check_limit(limit)
    hypothesis, in_draft = Hypothesis(), 0  # positions that the draft model has seen
    while not hypothesis.finished and len(hypothesis.token_ids) < limit:
        target, drafted = [options.bos_id, *hypothesis.token_ids], list[int]()
        count = min(draft_tokens, limit - len(target))  # the check adds a token of its own
        while len(drafted) < count and drafted[-1:] != [options.eos_id]:
            drafted.append(_best(draft(target[in_draft:], in_draft)[-1:], len(target) - 1, options)[0][0])
            in_draft = len(target)
            target.append(drafted[-1])
        start = len(hypothesis.token_ids)
        accepted = 0
        for number, (token_id, log_prob) in enumerate(_best(model([target[start], *drafted], start), start, options)):
            if log_prob == -torch.inf:
                raise NonFiniteError(f"at position {start + number + 1}")
            hypothesis = hypothesis.continued(token_id, log_prob, options)
            if number == len(drafted) or token_id != drafted[number]:
                break
            accepted += 1
            if hypothesis.finished:
                break
        in_draft = min(in_draft, start + 1 + accepted)
        yield SpeculativeStep(tuple(drafted), accepted, hypothesis.token_ids[start:], hypothesis)


def _best(logits: Tensor, position: int, options: SearchOptions) -> list[tuple[int, float]]:
    """Most probable token of each row of [n, V] with its log-probability, from `position` tokens on."""
    best: list[tuple[int, float]] = []
    for number, row in enumerate(logits):
        token_ids, log_probs = most_probable_tokens(row[None, None], 1, options.excluded_at(position + number))
        best.append((int(token_ids), float(log_probs)))
    return best
