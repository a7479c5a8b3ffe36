"""Encoder and decoder stacks (3.1): residual connections, norms, networks (3.3), dropout (5.4)."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Protocol, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.model.attention import KeysValues, Mask, MultiHeadAttention
from core.model.config import Positions, TransformerConfig
from core.model.relative_positions import RelativePositions, position_distances

Function = Callable[[Tensor], Tensor]
Norm = nn.LayerNorm | nn.RMSNorm

# --- 3.1 Encoder and decoder stacks ---------------------------------------------------------------------------------


class Encoder(nn.Module):
    """N identical layers (3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.input_norm = layer_norm(config) if config.embedding_norm else nn.Identity()
        self.relative_positions = relative_positions(config, "relative", "encoder")
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.num_encoder_layers))
        self.output_norm = layer_norm(config) if config.final_norm else nn.Identity()

    def forward(self, x: Tensor, mask: Mask) -> Tensor:
        """[B, S, D], [B, 1, 1, S] -> [B, S, D]."""
        x = self.input_norm(x)
        for layer, own_mask in zip(self.layers, layer_masks(self, mask, x), strict=True):
            x = layer(x, own_mask)
        return self.output_norm(x)


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward network (3.1), each in a residual connection."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.relative_positions = relative_positions(config, "relative_per_layer", "encoder")
        self.self_attention = MultiHeadAttention(config.d_model, config.encoder_heads, config.attention_bias)
        self.self_attention_norm = layer_norm(config)
        self.feed_forward = FeedForward(config, config.d_ff)
        self.feed_forward_norm = layer_norm(config)
        self.dropout = Dropout(config.dropout)
        self.residual = RESIDUALS[config.norm]
        self.self_attention_residual = Between()

    def forward(self, x: Tensor, mask: Mask) -> Tensor:
        """[B, S, D], [B, 1, 1, S] -> [B, S, D]."""
        x = self.residual(x, lambda x: self.self_attention(x, x, mask), self.self_attention_norm, self.dropout)
        x = self.self_attention_residual(x)
        return self.residual(x, self.feed_forward, self.feed_forward_norm, self.dropout)


class Decoder(nn.Module):
    """N identical layers with attention to the encoder's output (3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.input_norm = layer_norm(config) if config.embedding_norm else nn.Identity()
        self.relative_positions = relative_positions(config, "relative", "decoder")
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.num_decoder_layers))
        self.output_norm = layer_norm(config) if config.final_norm else nn.Identity()

    def forward(
        self, x: Tensor, memory: Tensor, mask: Mask, memory_mask: Tensor, cache: "DecodedPositions | None" = None
    ) -> Tensor:
        """[B, T, D], [B, S, D], [B, 1, T, T], [B, 1, 1, S] -> [B, T, D]."""
        x = self.input_norm(x)
        for index, own_mask in enumerate(layer_masks(self, mask, x, cache)):
            x = self.layers[index](x, memory, own_mask, memory_mask, cache.layers[index] if cache else None)
        return self.output_norm(x)


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention, and a feed-forward network (3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.relative_positions = relative_positions(config, "relative_per_layer", "decoder")
        self.self_attention = MultiHeadAttention(config.d_model, config.decoder_heads, config.attention_bias)
        self.self_attention_norm = layer_norm(config)
        self.cross_attention = MultiHeadAttention(config.d_model, config.decoder_heads, config.attention_bias)
        self.cross_attention_norm = layer_norm(config)
        self.feed_forward = FeedForward(config, config.decoder_d_ff or config.d_ff)
        self.feed_forward_norm = layer_norm(config)
        self.dropout = Dropout(config.dropout)
        self.residual = RESIDUALS[config.norm]
        self.self_attention_residual = Between()
        self.cross_attention_residual = Between()

    def forward(
        self, x: Tensor, memory: Tensor, mask: Mask, memory_mask: Tensor, cache: "LayerPositions | None" = None
    ) -> Tensor:
        """[B, T, D], [B, S, D], [B, 1, T, T], [B, 1, 1, S] -> [B, T, D]."""

        def self_attention(x: Tensor) -> Tensor:
            return self.self_attention(x, x, mask, cache and cache.self_attention)

        def cross_attention(x: Tensor) -> Tensor:
            return self.cross_attention(x, memory, memory_mask, cache and cache.cross_attention)

        x = self.self_attention_residual(self.residual(x, self_attention, self.self_attention_norm, self.dropout))
        x = self.cross_attention_residual(self.residual(x, cross_attention, self.cross_attention_norm, self.dropout))
        return self.residual(x, self.feed_forward, self.feed_forward_norm, self.dropout)


def relative_positions(config: TransformerConfig, positions: Positions, stack: str) -> RelativePositions | None:
    """Scores of distances of a stack or of one of its layers, if the configuration has these positions."""
    if config.positions != positions:
        return None
    heads = config.encoder_heads if stack == "encoder" else config.decoder_heads
    return RelativePositions(config, heads.num_heads, stack == "encoder" or not config.autoregressive)


def layer_masks(
    stack: Encoder | Decoder, mask: Mask, x: Tensor, cache: "DecodedPositions | None" = None
) -> Iterable[Mask]:
    """Mask of each layer's self-attention of x [B, L, D], with the scores of relative positions."""
    shared = stack.relative_positions
    own = [layer.relative_positions for layer in cast("Iterable[EncoderLayer | DecoderLayer]", stack.layers)]
    if not isinstance(mask, Tensor) or not any((shared, *own)):
        return [mask] * len(own)
    distances = cache.distances if cache else position_distances(x.size(1), x.device)
    return [shared(mask, distances)] * len(own) if shared else (each(mask, distances) for each in own if each)


class Between(nn.Identity):
    """The state between two sub-layers of a layer.

    A module, so that a forward hook can read or replace it, as for `AttentionWeights`.
    """


def post_norm(x: Tensor, sublayer: Function, norm: Function, dropout: Function) -> Tensor:
    """Norm(x + Dropout(Sublayer(x))) (3.1, 5.4)."""
    return norm(x + dropout(sublayer(x)))


def pre_norm(x: Tensor, sublayer: Function, norm: Function, dropout: Function) -> Tensor:
    """x + Dropout(Sublayer(Norm(x))), as in Tensor2Tensor soon after the paper."""
    return x + dropout(sublayer(norm(x)))


RESIDUALS = {"post": post_norm, "pre": pre_norm}


def layer_norm(config: TransformerConfig) -> Norm:
    """LayerNorm (Ba et al. 2016), or RMSNorm (Zhang & Sennrich 2019): gain * x / sqrt(mean(x^2) + epsilon)."""
    kind = nn.RMSNorm if config.norm_kind == "rms" else nn.LayerNorm
    return kind(config.d_model, eps=config.norm_eps)


# --- 3.3 Position-wise feed-forward networks ------------------------------------------------------------------------


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2, the same at every position (3.3).

    Attributes:
        multiplier: another projection of x that multiplies the activations, of a gated network (Shazeer 2020); or None.
    """

    def __init__(self, config: TransformerConfig, d_ff: int) -> None:
        super().__init__()
        self.inner = nn.Linear(config.d_model, d_ff, config.feed_forward_bias)
        self.outer = nn.Linear(d_ff, config.d_model, config.feed_forward_bias)
        self.multiplier = (
            nn.Linear(config.d_model, d_ff, config.feed_forward_bias) if config.gated_feed_forward else None
        )
        self.activation = ACTIVATIONS[config.activation]

    def forward(self, x: Tensor) -> Tensor:
        """[B, L, D] -> [B, L, D]."""
        return self.outer(self.hidden(x))

    def hidden(self, x: Tensor) -> Tensor:
        """Activations that `outer` reads: [..., D] -> [..., d_ff]."""
        activated = self.activation(self.inner(x))
        return activated if self.multiplier is None else activated * self.multiplier(x)


ACTIVATIONS: dict[str, Function] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "swish": F.silu,
}


# --- 5.4 Residual dropout ---------------------------------------------------------------------------------------------


class Dropout(nn.Module):
    """Dropout (5.4; Srivastava et al. 2014), with four mask elements per random number.

    On a CPU, one random float per element costs more than the layer it regularises. The probability is exact to 2^-16.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.p)
        draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None).view(torch.int16)
        kept = draws[: x.numel()].view(x.shape) >= min(round(self.p * 2**16), 2**16 - 1) - 2**15
        return x * kept * (1 / (1 - self.p))

    def extra_repr(self) -> str:
        return f"p={self.p}"


# --- State of incremental decoding ----------------------------------------------------------------------------------


class LayerPositions(Protocol):
    """Cached keys and values of one decoder layer, see `MultiHeadAttention`."""

    def self_attention(self, keys_values: Callable[[], KeysValues]) -> KeysValues: ...

    def cross_attention(self, keys_values: Callable[[], KeysValues]) -> KeysValues: ...


class DecodedPositions(Protocol):
    """State of incremental decoding; see `core.decoding.cache.DecoderCache`."""

    memory: Tensor  # [B, S, D]
    memory_mask: Tensor  # [B, 1, 1, S]
    length: int  # positions decoded so far
    distances: Tensor  # [1 or B, Q, K] of the keys from the positions to decode, for `RelativePositions`

    @property
    def layers(self) -> Sequence[LayerPositions]: ...
