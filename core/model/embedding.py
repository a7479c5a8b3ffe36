"""Embeddings (3.4) and positional encoding (3.5)."""

import math

import torch
from torch import Tensor, nn

from core.model.config import PositionExponent, PositionOrder, TransformerConfig
from core.model.half_precision import stored_weight
from core.model.layers import Dropout

FIRST_POSITIONS = 512  # sinusoidal positions computed at first; more on demand
PAD_PIXEL = -1.0  # of the patches that pad an image; pixels are from 0 (paper) to 1 (ink)


class Embedding(nn.Module):
    """Dropout(sqrt(d_model) * token embedding + position) (3.4, 3.5, 5.4)."""

    def __init__(self, config: TransformerConfig, vocab_size: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, config.d_model)
        self.positions = positions(config)
        self.dropout = Dropout(config.dropout)
        self.scale = math.sqrt(config.d_model) if config.scale_embedding else 1.0

    def forward(self, token_ids: Tensor, position: int | None = None) -> Tensor:
        """[B, L] ids at positions 0 .. L - 1, or all at `position` -> [B, L, D]."""
        return self._embedded(token_ids, *((0, token_ids.size(1)) if position is None else (position, position + 1)))

    def chain(self, token_ids: Tensor, start: int) -> Tensor:
        """[B, L] ids at positions start .. start + L - 1 -> [B, L, D]."""
        return self._embedded(token_ids, start, start + token_ids.size(1))

    def without_dropout(self, token_ids: Tensor, position: int) -> Tensor:
        """As `forward`, without the calls of modules, which take longer than the work for a few tokens."""
        tokens = torch.embedding(stored_weight(self.tokens), token_ids).float()
        return tokens.mul_(self.scale).add_(self.positions.forward(position, position + 1))

    def _embedded(self, token_ids: Tensor, start: int, stop: int) -> Tensor:
        return self.dropout(self.tokens(token_ids) * self.scale + self.positions(start, stop))


class PatchEmbedding(nn.Module):
    """Patches of an image for the encoder (7): Dropout(sqrt(d_model) * projection of a patch's pixels + position).

    One linear projection, as in Dosovitskiy et al. 2021, equation 1, but without their class token, and scaled as
    tokens are (3.4): few pixels of a patch are ink, and their projection must not be lost beside the position.
    """

    def __init__(self, config: TransformerConfig, patch_size: int) -> None:
        super().__init__()
        self.pixels = nn.Linear(patch_size**2, config.d_model)
        self.positions = positions(config)
        self.dropout = Dropout(config.dropout)
        self.scale = math.sqrt(config.d_model) if config.scale_embedding else 1.0

    def forward(self, patches: Tensor) -> Tensor:
        """[B, S, P] -> [B, S, D]."""
        return self.dropout(self.pixels(patches) * self.scale + self.positions(0, patches.size(1)))


def positions(config: TransformerConfig) -> "SinusoidalPositions | LearnedPositions | NoPositions":
    """Positional encoding of a configuration (3.5)."""
    kinds = {"sinusoidal": SinusoidalPositions, "learned": LearnedPositions}
    return kinds.get(config.positions, NoPositions)(config)


class SinusoidalPositions(nn.Module):
    """Sines and cosines of geometrically increasing wavelength (3.5), without parameters."""

    table: Tensor

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.d_model = config.d_model
        self.order: PositionOrder = config.position_order
        self.exponent: PositionExponent = config.position_exponent
        self.offset = config.position_offset
        self.register_buffer("table", torch.empty(0, config.d_model), persistent=False)

    def forward(self, start: int, stop: int) -> Tensor:
        """Encodings of positions start .. stop - 1: [stop - start, D]."""
        start, stop = start + self.offset, stop + self.offset
        if stop > self.table.size(0):
            size = max(2 * stop, FIRST_POSITIONS)
            table = sinusoidal_encoding(size, self.d_model, order=self.order, exponent=self.exponent)
            self.table = table.to(self.table)
        return self.table[start:stop]


def sinusoidal_encoding(
    num_positions: int,
    d_model: int,
    *,
    first: int = 0,
    order: PositionOrder = "interleaved",
    exponent: PositionExponent = "i/n",
) -> Tensor:
    """Sinusoidal positional encodings (3.5).

    PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos(pos / 10000^(2i / d_model)).

    Args:
        first: position of the first row.
        order: `interleaved` as in the paper, or `halves`: all sines, then all cosines.
        exponent: of 10000 for pair i of n = d_model / 2; the paper's is i / n.

    Returns:
        [num_positions, d_model]
    """
    position, n = torch.arange(first, first + num_positions, dtype=torch.float64)[:, None], d_model // 2
    last = n if exponent == "i/n" else max(n - 1, 1)
    angle = position * 10000.0 ** (-torch.arange(n, dtype=torch.float64) / last)  # [positions, D / 2]
    columns = torch.stack((angle.sin(), angle.cos()), dim=-1 if order == "interleaved" else -2)
    return columns.flatten(1).float()


class LearnedPositions(nn.Module):
    """One learned vector per position (3.5; Table 3, row E)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.table = nn.Embedding(config.max_positions, config.d_model)

    def forward(self, start: int, stop: int) -> Tensor:
        """Encodings of positions start .. stop - 1: [stop - start, D].

        Raises:
            ValueError: a position is beyond the end of the table.
        """
        rows = self.table.num_embeddings
        if stop > rows:
            raise ValueError(
                f"{stop} positions are more than the {rows} learned ones (max_positions): shorten the input"
            )
        return self.table.weight[start:stop]


class NoPositions(nn.Module):
    """Zeros, without parameters: positions act in attention (`RelativePositions`)."""

    zero: Tensor

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.register_buffer("zero", torch.zeros(1, config.d_model), persistent=False)

    def forward(self, start: int, stop: int) -> Tensor:
        """[stop - start, D]."""
        return self.zero.expand(stop - start, -1)
