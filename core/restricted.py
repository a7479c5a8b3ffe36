"""Restricted self-attention (section 4): every position attends to r positions at most, in O(r n) memory and time.

A position's neighbourhood is the r positions nearest to it among those it may see. In the encoder that is a window
centred on it, which at either end of the sentence is moved inwards rather than cut off (the nearest neighbours of
Hassani et al. 2023), so that r >= n is full attention; in the decoder the last r positions, its own included.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True)
class Neighbourhood:
    """Which keys each query may attend to, as a range: O(n), where a mask of queries by keys is O(n^2).

    Attributes:
        first: [B, Q] the first key of each query. From one query to the next it grows by 0 or 1.
        stop: [B, Q] the key after the last, which likewise grows by 0 or 1; more than `first`.
        size: r, which no range is longer than.
    """

    first: Tensor
    stop: Tensor
    size: int

    def as_mask(self, num_keys: int) -> Tensor:
        """The same as a boolean mask, for those who want to look at all of it: [B, 1, Q, num_keys]."""
        return self.holds(torch.arange(num_keys, device=self.first.device))[:, None]

    def holds(self, keys: Tensor) -> Tensor:
        """Whether a query may attend to key positions that broadcast to [B, Q, K]: boolean [B, Q, K]."""
        return (keys >= self.first[..., None]) & (keys < self.stop[..., None])


def centred_neighbourhood(real: Tensor, size: int) -> Neighbourhood:
    """The encoder's: r positions around each. Of an even r, one more lies before than after.

    Args:
        real: [B, S] boolean, True where there is no padding; padding stands on the right, and no row is all padding.
        size: r, at least 1.
    """
    lengths = real.sum(1, keepdim=True)
    first = (torch.arange(real.size(1), device=real.device) - size // 2).clamp(min=0)
    first = torch.minimum(first, (lengths - size).clamp(min=0))
    return Neighbourhood(first, torch.minimum(first + size, lengths), size)


def causal_neighbourhood(real: Tensor, size: int) -> Neighbourhood:
    """The decoder's: each position and the r - 1 before it. Arguments as for `centred_neighbourhood`."""
    stop = torch.minimum(torch.arange(1, real.size(1) + 1, device=real.device), real.sum(1, keepdim=True))
    return Neighbourhood((stop - size).clamp(min=0), stop, size)


def restricted_attention(
    queries: Tensor, keys: Tensor, values: Tensor, neighbourhood: Neighbourhood, weights: Callable[[Tensor], Tensor]
) -> Tensor:
    """Scaled dot-product attention within neighbourhoods, block by block of r queries.

    The keys of r queries in a row lie within 2r - 1 positions. So all scores together are n (2r - 1), about half of
    which are masked.

    Args:
        queries: [B, H, n, d_k], already divided by sqrt(d_k)
        keys: [B, H, n, d_k]
        values: [B, H, n, d_v]
        neighbourhood: of the n queries.
        weights: softmax over the last axis of [B, H, blocks, r, 2r - 1].

    Returns:
        [B, H, n, d_v]
    """
    length = queries.size(2)
    block = min(neighbourhood.size, length)
    num_blocks = -(-length // block)
    padded = num_blocks * block
    # what pads the last block sees what the last query sees
    nearest = torch.arange(padded, device=queries.device).clamp(max=length - 1)
    first = neighbourhood.first[:, nearest].unflatten(1, (num_blocks, block))
    stop = neighbourhood.stop[:, nearest].unflatten(1, (num_blocks, block))
    span = torch.arange(min(2 * block - 1, length), device=queries.device)
    places = first[..., :1] + span  # [B, blocks, span]
    # [B, 1, blocks, block, span]
    allowed = Neighbourhood(first, stop, neighbourhood.size).holds(places[:, :, None])[:, None]

    # Whole rows of all heads at once, those of all sentences below each other: three times as fast as `gather`.
    rows = places.clamp(max=length - 1) + length * torch.arange(places.size(0), device=places.device)[:, None, None]

    def spans(of_keys: Tensor) -> Tensor:
        """[B, H, n, E] -> [B, H, blocks, span, E]."""
        num_heads, width = of_keys.size(1), of_keys.size(3)
        selected = of_keys.transpose(1, 2).reshape(-1, num_heads * width).index_select(0, rows.flatten())
        return selected.view(*rows.shape, num_heads, width).permute(0, 3, 1, 2, 4)

    blocks = F.pad(queries, (0, 0, 0, padded - length)).unflatten(2, (num_blocks, block))
    scores = blocks @ spans(keys).transpose(-2, -1)  # [B, H, blocks, block, span]
    heads = weights(scores.masked_fill(~allowed, -torch.inf)) @ spans(values)
    return heads.flatten(2, 3)[:, :, :length]
