"""Scores of next tokens, and the best of them."""

from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from core.native import library as native

BLOCK, MANY_VALUES = 64, 2**16  # columns of a block of `top_k`, and number of values from which blocks are faster


class NonFiniteError(ValueError):
    """Outputs of the model are NaN or infinite."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"the model's outputs are not finite (NaN or infinite) {where}: its weights are damaged, or the training "
            f"diverged; use another checkpoint"
        )


def no_token_error(position: int, excluded: tuple[int, ...], vocab_size: int, begun: bytes = b"") -> ValueError:
    """Why no token is possible: none is allowed, as a text is not complete, or no log-probability is finite."""
    if begun:
        return ValueError(
            f"no token at position {position + 1} goes on with the beginning {begun.decode().strip()!r:.60}: the "
            f"constraints forbid all that do; allow one"
        )
    if len(excluded) >= vocab_size:
        return ValueError(f"every token is forbidden at position {position + 1}: allow one")
    return NonFiniteError(f"at position {position + 1}")


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


def most_probable_tokens(logits: Tensor, count: int, excluded: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Best tokens of each hypothesis, best first, from logits [B, W, V]: ids and log-probabilities, [B, W, count] each.

    If logits are NaN or plus infinity, all log-probabilities of that hypothesis are minus infinity.
    """
    count = min(count, logits.size(-1))
    if (compiled := native.library()) and logits.device.type == "cpu" and logits.dtype == torch.float32:
        return native.best_tokens(compiled, logits, count, excluded)
    log_probs = logits.log_softmax(-1)
    for token_id in excluded:
        log_probs[..., token_id] = -torch.inf
    values, token_ids = top_k(log_probs, count)
    return token_ids, values.masked_fill(values.isnan(), -torch.inf)  # NaN ranks above all numbers


def best_continuations(
    logits: Tensor, log_probs: Tensor, count: int, excluded: tuple[int, ...]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Best continuations of the W hypotheses of each sentence, best first.

    Args:
        logits: [B, W, V]
        log_probs: [B, W] of the hypotheses.
        count: at most W * V of each sentence's are returned.
        excluded: ids that are left out.

    Returns:
        Parents, token ids, log-probabilities of the tokens given their parents and of the whole continuations,
        [B, count] each. Impossible ones have a log-probability of minus infinity and come last.
    """
    if (compiled := native.library()) and logits.device.type == "cpu" and logits.dtype == torch.float32:
        return native.best_continuations(compiled, logits, log_probs, count, excluded)
    tokens, token_log_probs = most_probable_tokens(logits, count, excluded)  # [B, W, C]
    totals = (log_probs[:, :, None] + token_log_probs).flatten(1)
    top = totals.topk(min(count, totals.size(1)))
    token_ids, of_tokens = (each.flatten(1).gather(1, top.indices) for each in (tokens, token_log_probs))
    return top.indices // tokens.size(2), token_ids, of_tokens, top.values


def top_k(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """`values.topk(count)`, largest values and their columns of each row of [..., V], five times as fast for many
    values.

    The largest are in the `count` blocks of columns with the largest maxima, or after the last whole block.
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
