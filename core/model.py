"""The Transformer of "Attention Is All You Need", in the order of its section 3.

Vaswani et al. 2017. References such as (3.2.1) are to its sections.

Shapes:  B batch   S source length   T target length   Q queries   K keys
         H heads   D d_model         E width of a head  V vocabulary

A mask is boolean and True means "may attend". Callers pass token ids; the model makes the masks.
"""

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.config import HeadShape, TransformerConfig
from core.restricted import Neighbourhood, causal_neighbourhood, centred_neighbourhood, restricted_attention

KeysValues = tuple[Tensor, Tensor]
Mask = Tensor | Neighbourhood  # keys that queries may attend to
FIRST_POSITIONS = 512  # sinusoidal positions computed at first; more on demand


class Transformer(nn.Module):
    """Encoder, decoder, and one matrix for both embeddings and output projection (3)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(config)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.initialise()

    def initialise(self) -> None:
        """Initialise all parameters.

        Matrices as Xavier (Glorot & Bengio 2010); embeddings so that, times sqrt(d_model), they have unit variance.
        Value, output and feed-forward projections are scaled down with depth as in DeepNet (Wang et al. 2022, table 1):
        in one short trial, six post-norm layers learned faster at first.
        """
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
        n, m = len(self.encoder.layers), len(self.decoder.layers)
        for stack, gain in ((self.encoder, 0.87 * (n**4 * m) ** (-1 / 16)), (self.decoder, (12 * m) ** -0.25)):
            for name, parameter in stack.named_parameters():
                if name.endswith(("v_proj.weight", "out_proj.weight", "inner.weight", "outer.weight")):
                    parameter.data.mul_(gain)

    def forward(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        """Logits of the next token at every target position.

        Args:
            source_ids: [B, S] integers, right-padded with `config.pad_id`; no row all padding.
            target_ids: [B, T] integers, each row beginning with `config.bos_id`, padded likewise.

        Returns:
            [B, T, V]; row t predicts the token after `target_ids[:, t]`.
        """
        return self.project(self.decode(target_ids, self.encode(source_ids), self.source_mask(source_ids)))

    def encode(self, source_ids: Tensor) -> Tensor:
        """Encoder output, the memory of the decoder: [B, S] ids -> [B, S, D]."""
        neighbourhood = self.config.neighbourhood
        mask = (
            centred_neighbourhood(source_ids != self.config.pad_id, neighbourhood)
            if neighbourhood
            else self.source_mask(source_ids)
        )
        return self.encoder(self.embedding(source_ids), mask)

    def decode(self, target_ids: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        """Decoder states: [B, T] ids, [B, S, D], [B, 1, 1, S] -> [B, T, D]."""
        return self.decoder(self.embedding(target_ids), memory, self.target_mask(target_ids), memory_mask)

    def step(self, token_ids: Tensor, cache: "DecodedPositions", mask: Tensor) -> Tensor:
        """Decode one more position for W hypotheses of each sentence, as the query axis.

        Args:
            token_ids: [B, W] last token of each hypothesis.
            cache: earlier positions; this position's W keys and values are added.
            mask: [B, 1, W, K] which of the K keys, this position's W last, each hypothesis may attend to.

        Returns:
            [B, W, V] logits of the next token.
        """
        states = self.decoder(self.embedding(token_ids, cache.length), cache.memory, mask, cache.memory_mask, cache)
        cache.length += 1
        return self.project(states)

    def project(self, states: Tensor) -> Tensor:
        """Logits, by the transposed embedding matrix (3.4): [..., D] -> [..., V]."""
        return F.linear(states, self.embedding.tokens.weight)

    def source_mask(self, source_ids: Tensor) -> Tensor:
        """[B, S] -> [B, 1, 1, S]: all source tokens except padding."""
        return (source_ids != self.config.pad_id)[:, None, None, :]

    def target_mask(self, target_ids: Tensor) -> Mask:
        """[B, T] -> [B, 1, T, T]: no later positions, no padding (3.2.3)."""
        if self.config.neighbourhood:
            return causal_neighbourhood(target_ids != self.config.pad_id, self.config.neighbourhood)
        length = target_ids.size(1)
        causal = torch.ones(length, length, dtype=torch.bool, device=target_ids.device).tril()
        return causal & (target_ids != self.config.pad_id)[:, None, None, :]

    @property
    def device(self) -> torch.device:
        return self.embedding.tokens.weight.device


# --- 3.1 Encoder and decoder stacks ---------------------------------------------------------------------------------


class Encoder(nn.Module):
    """N identical layers (3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.num_encoder_layers))

    def forward(self, x: Tensor, mask: Mask) -> Tensor:
        """[B, S, D], [B, 1, 1, S] -> [B, S, D]."""
        for layer in self.layers:
            x = layer(x, mask)
        return x


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward network (3.1).

    Each sub-layer computes LayerNorm(x + Dropout(Sublayer(x))) (5.4).
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.encoder_heads)
        self.self_attention_norm = nn.LayerNorm(config.d_model)
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = nn.LayerNorm(config.d_model)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, mask: Mask) -> Tensor:
        """[B, S, D], [B, 1, 1, S] -> [B, S, D]."""
        x = self.self_attention_norm(x + self.dropout(self.self_attention(x, x, mask)))
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))


class Decoder(nn.Module):
    """N identical layers with attention to the encoder's output (3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.num_decoder_layers))

    def forward(
        self, x: Tensor, memory: Tensor, mask: Mask, memory_mask: Tensor, cache: "DecodedPositions | None" = None
    ) -> Tensor:
        """[B, T, D], [B, S, D], [B, 1, T, T], [B, 1, 1, S] -> [B, T, D]."""
        for index, layer in enumerate(self.layers):
            x = layer(x, memory, mask, memory_mask, cache.layers[index] if cache else None)
        return x


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention, and a feed-forward network (3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.decoder_heads)
        self.self_attention_norm = nn.LayerNorm(config.d_model)
        self.cross_attention = MultiHeadAttention(config.d_model, config.decoder_heads)
        self.cross_attention_norm = nn.LayerNorm(config.d_model)
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = nn.LayerNorm(config.d_model)
        self.dropout = Dropout(config.dropout)

    def forward(
        self, x: Tensor, memory: Tensor, mask: Mask, memory_mask: Tensor, cache: "LayerPositions | None" = None
    ) -> Tensor:
        """[B, T, D], [B, S, D], [B, 1, T, T], [B, 1, 1, S] -> [B, T, D]."""
        x = self.self_attention_norm(x + self.dropout(self.self_attention(x, x, mask, cache and cache.self_attention)))
        x = self.cross_attention_norm(
            x + self.dropout(self.cross_attention(x, memory, memory_mask, cache and cache.cross_attention))
        )
        return self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))


# --- 3.2 Attention --------------------------------------------------------------------------------------------------


class MultiHeadAttention(nn.Module):
    """h heads of scaled dot-product attention: Concat(head_1 .. head_h) W_O (3.2.2)."""

    def __init__(self, d_model: int, heads: HeadShape) -> None:
        super().__init__()
        self.num_heads = heads.num_heads
        self.q_proj = nn.Linear(d_model, heads.num_heads * heads.d_k)
        self.k_proj = nn.Linear(d_model, heads.num_heads * heads.d_k)
        self.v_proj = nn.Linear(d_model, heads.num_heads * heads.d_v)
        self.out_proj = nn.Linear(heads.num_heads * heads.d_v, d_model)
        self.weights = AttentionWeights()

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Mask,
        remember: Callable[[Callable[[], KeysValues]], KeysValues] | None = None,
    ) -> Tensor:
        """Attend from every position of `x` to the positions of `memory`.

        Args:
            x: [B, Q, D] input of the queries.
            memory: [B, K, D] input of keys and values: `x` itself in self-attention.
            mask: boolean, broadcasts to [B, H, Q, K]; True may be attended to, and every row has a True. Or
                neighbourhoods (4).
            remember: a cache: takes a function that computes the keys and values of `memory`, returns those to attend
                to.

        Returns:
            [B, Q, D]
        """
        queries, keys_values = self.project_qkv(x, memory)  # [B, H, Q, E]
        keys, values = remember(keys_values) if remember else keys_values()  # [B, H, K, E]
        heads = scaled_dot_product_attention(queries, keys, values, mask, self.weights)  # [B, H, Q, E]
        return self.out_proj(heads.transpose(1, 2).flatten(2))

    def project_qkv(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Callable[[], KeysValues]]:
        """Queries, and a function that computes the keys and values on demand.

        [B, Q, D], [B, K, D] -> [B, H, Q, d_k], () -> (keys, values).
        """
        return self._split(self.q_proj(x)), lambda: self.keys_values(memory)

    def keys_values(self, memory: Tensor) -> KeysValues:
        """[B, K, D] -> keys [B, H, K, d_k] and values [B, H, K, d_v]."""
        return self._split(self.k_proj(memory)), self._split(self.v_proj(memory))

    def _split(self, x: Tensor) -> Tensor:
        """[B, L, H * E] -> [B, H, L, E]."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)


class AttentionWeights(nn.Module):
    """Softmax of the scores over keys (3.2.1).

    A module, so that a forward hook can read or replace the weights.
    """

    def forward(self, scores: Tensor) -> Tensor:
        """[B, H, Q, K] -> [B, H, Q, K]; rows sum to 1."""
        return scores.softmax(dim=-1)


def is_hooked(weights: AttentionWeights) -> bool:
    """Whether something sees or replaces them."""
    return bool(weights._forward_hooks)  # pyright: ignore[reportPrivateUsage]


def scaled_dot_product_attention(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Mask, weights: AttentionWeights
) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)) V (3.2.1).

    Unless `weights` is hooked, PyTorch's fused kernel computes the same without storing the Q x K matrix.

    Args:
        queries: [B, H, Q, d_k]
        keys: [B, H, K, d_k]
        values: [B, H, K, d_v]
        mask: boolean, broadcasts to [B, H, Q, K]; True may be attended to. Or neighbourhoods (4).
        weights: the softmax, hooked or not.

    Returns:
        [B, H, Q, d_v]
    """
    if isinstance(mask, Neighbourhood):
        if not is_hooked(weights):
            return restricted_attention(queries / math.sqrt(queries.size(-1)), keys, values, mask, weights)
        mask = mask.as_mask(keys.size(2))
    # On CPUs a training step of `multi30k` with the fused kernel takes twice as long in bfloat16, as its backward is
    # slow, and about as long in float32, with AVX-512 as with AVX2 (benchmarks/README.md): training there takes the
    # explicit path.
    trains_on_cpu = queries.device.type == "cpu" and torch.is_grad_enabled() and queries.requires_grad
    if not is_hooked(weights) and not trains_on_cpu:
        return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
    scores = (queries / math.sqrt(queries.size(-1))) @ keys.transpose(-2, -1)  # [B, H, Q, K]
    return weights(scores.masked_fill(~mask, -math.inf)) @ values


# --- 3.3 Position-wise feed-forward networks ------------------------------------------------------------------------


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2, the same at every position (3.3)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.inner = nn.Linear(config.d_model, config.d_ff)
        self.outer = nn.Linear(config.d_ff, config.d_model)

    def forward(self, x: Tensor) -> Tensor:
        """[B, L, D] -> [B, L, D]."""
        return self.outer(F.relu(self.inner(x)))


# --- 3.4 Embeddings, 3.5 Positional encoding ------------------------------------------------------------------------


class Embedding(nn.Module):
    """Dropout(sqrt(d_model) * token embedding + position) (3.4, 3.5, 5.4)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = LearnedPositions(config) if config.positions == "learned" else SinusoidalPositions(config)
        self.dropout = Dropout(config.dropout)
        self.scale = math.sqrt(config.d_model)

    def forward(self, token_ids: Tensor, position: int | None = None) -> Tensor:
        """[B, L] ids at positions 0 .. L - 1, or all at `position` -> [B, L, D]."""
        positions = self.positions(0, token_ids.size(1)) if position is None else self.positions(position, position + 1)
        return self.dropout(self.tokens(token_ids) * self.scale + positions)


class SinusoidalPositions(nn.Module):
    """Sines and cosines of geometrically increasing wavelength (3.5). No parameters."""

    table: Tensor

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.d_model = config.d_model
        self.register_buffer("table", torch.empty(0, config.d_model), persistent=False)

    def forward(self, start: int, stop: int) -> Tensor:
        """Encodings of positions start .. stop - 1: [stop - start, D]."""
        if stop > self.table.size(0):
            self.table = sinusoidal_encoding(max(2 * stop, FIRST_POSITIONS), self.d_model).to(self.table)
        return self.table[start:stop]


def sinusoidal_encoding(num_positions: int, d_model: int) -> Tensor:
    """Sinusoidal positional encodings (3.5).

    PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos(pos / 10000^(2i / d_model)).

    Returns:
        [num_positions, d_model], sines in the even columns and cosines in the odd ones.
    """
    position = torch.arange(num_positions, dtype=torch.float64)[:, None]
    angle = position * 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)  # [positions, D / 2]
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1).float()


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


# --- 5.4 Regularisation ---------------------------------------------------------------------------------------------


class Dropout(nn.Module):
    """Dropout (5.4), with four mask elements per random number.

    Srivastava et al. 2014. On a CPU, one random float per element costs more than the layer it regularises. The
    probability is exact to 2^-16.
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
    """State of incremental decoding; see `core.cache.DecoderCache`."""

    memory: Tensor  # [B, S, D]
    memory_mask: Tensor  # [B, 1, 1, S]
    length: int  # positions decoded so far

    @property
    def layers(self) -> Sequence[LayerPositions]: ...
