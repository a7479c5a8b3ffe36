"""Restricted self-attention (4): r keys per query, in O(r n) time and memory.

The neighbourhood of a position is the r nearest positions among those it may attend to. In the encoder it is a window
centred on the position, shifted inwards at the ends of the sentence rather than cut off (as in Hassani et al. 2023), so
that r >= n is full attention; in the decoder it is the last r positions, including its own.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True)
class Neighbourhood:
    """Range of keys that each query may attend to: O(n), unlike an O(n^2) mask."""

    first: Tensor  # [B, Q] first key of each query. From one query to the next it increases by 0 or 1.
    stop: Tensor  # [B, Q] end of the range, exclusive; increases likewise, greater than `first`
    size: int  # r, largest length of a range

    def as_mask(self, num_keys: int) -> Tensor:
        """The equivalent boolean mask: [B, 1, Q, num_keys]."""
        return self.contains(torch.arange(num_keys, device=self.first.device))[:, None]

    def contains(self, keys: Tensor) -> Tensor:
        """Whether queries may attend to keys, positions that broadcast to [B, Q, K]: boolean [B, Q, K]."""
        return (keys >= self.first[..., None]) & (keys < self.stop[..., None])


def centred_neighbourhood(real: Tensor, size: int) -> Neighbourhood:
    """Neighbourhoods of the encoder: r = `size` positions around each; for even r, one more before than after it.

    `real` [B, S] is False for padding, which is on the right; no row is all padding.
    """
    lengths = real.sum(1, keepdim=True)
    first = (torch.arange(real.size(1), device=real.device) - size // 2).clamp(min=0)
    first = torch.minimum(first, (lengths - size).clamp(min=0))
    return Neighbourhood(first, torch.minimum(first + size, lengths), size)


def causal_neighbourhood(real: Tensor, size: int) -> Neighbourhood:
    """Neighbourhoods of the decoder: a position and the r - 1 before it; arguments as for `centred_neighbourhood`."""
    stop = torch.minimum(torch.arange(1, real.size(1) + 1, device=real.device), real.sum(1, keepdim=True))
    return Neighbourhood((stop - size).clamp(min=0), stop, size)


def restricted_attention(
    queries: Tensor, keys: Tensor, values: Tensor, neighbourhood: Neighbourhood, weights: Callable[[Tensor], Tensor]
) -> Tensor:
    """Scaled dot-product attention within neighbourhoods, in blocks of r queries.

    The keys of r consecutive queries span 2r - 1 positions: n (2r - 1) scores, about half of them masked.

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
    # padding of the last block attends to the keys of the last query
    nearest = torch.arange(padded, device=queries.device).clamp(max=length - 1)
    first = neighbourhood.first[:, nearest].unflatten(1, (num_blocks, block))
    stop = neighbourhood.stop[:, nearest].unflatten(1, (num_blocks, block))
    span = torch.arange(min(2 * block - 1, length), device=queries.device)
    places = first[..., :1] + span  # [B, blocks, span]
    # [B, 1, blocks, block, span]
    allowed = Neighbourhood(first, stop, neighbourhood.size).contains(places[:, :, None])[:, None]

    # Select whole rows of all heads, with sentences concatenated: three times as fast as `gather`.
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
