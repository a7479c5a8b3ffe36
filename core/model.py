"""The Transformer of "Attention Is All You Need", in the order of its section 3.

Vaswani et al. 2017. References such as (3.2.1) are to its sections.

Shapes:  B batch   S source length   T target length   Q queries   K keys
         H heads   D d_model         E width of a head  V vocabulary   P pixels of an image patch

A mask is boolean and True means "may attend". Callers pass token ids; the model makes the masks. Comments say what the
paper does; `TransformerConfig` has the variants of other projects, each of which replaces one part.
"""

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.config import HeadShape, PositionExponent, PositionOrder, TransformerConfig
from core.restricted import Neighbourhood, causal_neighbourhood, centred_neighbourhood, restricted_attention

KeysValues = tuple[Tensor, Tensor]
Mask = Tensor | Neighbourhood  # keys that queries may attend to
FIRST_POSITIONS = 512  # sinusoidal positions computed at first; more on demand
PAD_PIXEL = -1.0  # of the patches that pad an image; pixels are from 0 (paper) to 1 (ink)


class Transformer(nn.Module):
    """Encoder, decoder, and one matrix for both embeddings and output projection (3).

    Attributes:
        embedding: of the source, and of the target unless the two are not tied.
        patch_embedding: of the source if it is an image, then `embedding` is of the target alone; else None.
        target_embedding: of the target, None if `embedding` is for both.
        output_projection: matrix of the logits, None if the target's embedding is.
        output_bias: [V] of the logits, or None.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(config, config.vocab_size)
        self.patch_embedding = PatchEmbedding(config, config.patch_size) if config.patch_size else None
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.target_embedding = None if config.tied in ("all", "inputs") else Embedding(config, config.target_size)
        self.output_projection = (
            None if config.tied in ("all", "target") else nn.Linear(config.d_model, config.target_size, bias=False)
        )
        self.output_bias = nn.Parameter(torch.zeros(config.target_size)) if config.output_bias else None
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
                if module.bias is not None:  # pyright: ignore[reportUnnecessaryComparison]
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
        n, m = len(self.encoder.layers), len(self.decoder.layers)
        for stack, gain in ((self.encoder, 0.87 * (n**4 * m) ** (-1 / 16)), (self.decoder, (12 * m) ** -0.25)):
            for name, parameter in stack.named_parameters():
                if name.endswith(("v_proj.weight", "out_proj.weight", "inner.weight", "outer.weight")):
                    parameter.data.mul_(gain)

    def forward(self, source: Tensor, target_ids: Tensor) -> Tensor:
        """Logits of the next token at every target position.

        Args:
            source: [B, S] integers, right-padded with `config.pad_id`; no row all padding. With `config.patch_size`
                image patches instead: [B, S, P] from 0 to 1, right-padded with `PAD_PIXEL`.
            target_ids: [B, T] integers, each row beginning with `config.bos_id`, padded likewise.

        Returns:
            [B, T, V]; row t predicts the token after `target_ids[:, t]`.
        """
        return self.project(self.decode(target_ids, self.encode(source), self.source_mask(source)))

    def encode(self, source: Tensor) -> Tensor:
        """Encoder output, the memory of the decoder: [B, S] ids or [B, S, P] patches -> [B, S, D]."""
        neighbourhood = self.config.neighbourhood
        mask = centred_neighbourhood(self.is_real(source), neighbourhood) if neighbourhood else self.source_mask(source)
        return self.encoder((self.patch_embedding or self.embedding)(source), mask)

    def decode(self, target_ids: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        """Decoder states: [B, T] ids, [B, S, D], [B, 1, 1, S] -> [B, T, D]."""
        return self.decoder(self.fed_embedding(target_ids), memory, self.target_mask(target_ids), memory_mask)

    def step(self, token_ids: Tensor, cache: "DecodedPositions", mask: Tensor) -> Tensor:
        """Decode one more position for W hypotheses of each sentence, as the query axis.

        Args:
            token_ids: [B, W] last token of each hypothesis.
            cache: earlier positions; this position's W keys and values are added.
            mask: [B, 1, W, K] which of the K keys, this position's W last, each hypothesis may attend to.

        Returns:
            [B, W, V] logits of the next token.
        """
        embedded = self.fed_embedding(token_ids, cache.length)
        states = self.decoder(embedded, cache.memory, mask, cache.memory_mask, cache)
        cache.length += 1
        return self.project(states)

    def project(self, states: Tensor) -> Tensor:
        """Logits, by the transposed embedding matrix (3.4): [..., D] -> [..., V]."""
        return F.linear(states, self.unembedding, self.output_bias)

    def source_mask(self, source: Tensor) -> Tensor:
        """[B, S] or [B, S, P] -> [B, 1, 1, S]: the whole source except padding."""
        return self.is_real(source)[:, None, None, :]

    def is_real(self, source: Tensor) -> Tensor:
        """Whether a source position is not padding: [B, S] or [B, S, P] -> [B, S]."""
        return source[..., 0] != PAD_PIXEL if self.patch_embedding else source != self.config.pad_id

    def target_mask(self, target_ids: Tensor) -> Mask:
        """[B, T] -> [B, 1, T, T]: no later positions, no padding (3.2.3)."""
        real, length = target_ids != self.config.pad_id, target_ids.size(1)
        if self.config.bos_id == self.config.pad_id:
            real = F.pad(real[:, 1:], (1, 0), value=True)  # the first token is the start, whatever its id
        if self.config.neighbourhood:
            return causal_neighbourhood(real, self.config.neighbourhood)
        causal = torch.ones(length, length, dtype=torch.bool, device=target_ids.device).tril()
        return causal & real[:, None, None, :]

    @property
    def unembedding(self) -> Tensor:
        """Matrix of the output projection: [V, D]."""
        return (self.output_projection or self.fed_embedding.tokens).weight

    @property
    def fed_embedding(self) -> "Embedding":
        """Embedding of the tokens fed to the decoder."""
        return self.target_embedding or self.embedding

    @property
    def device(self) -> torch.device:
        return self.embedding.tokens.weight.device


# --- 3.1 Encoder and decoder stacks ---------------------------------------------------------------------------------


class Encoder(nn.Module):
    """N identical layers (3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.input_norm = layer_norm(config) if config.embedding_norm else nn.Identity()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.num_encoder_layers))
        self.output_norm = layer_norm(config) if config.final_norm else nn.Identity()

    def forward(self, x: Tensor, mask: Mask) -> Tensor:
        """[B, S, D], [B, 1, 1, S] -> [B, S, D]."""
        x = self.input_norm(x)
        for layer in self.layers:
            x = layer(x, mask)
        return self.output_norm(x)


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward network (3.1), each with a residual connection."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.encoder_heads, config.attention_bias)
        self.self_attention_norm = layer_norm(config)
        self.feed_forward = FeedForward(config, config.d_ff)
        self.feed_forward_norm = layer_norm(config)
        self.dropout = Dropout(config.dropout)
        self.residual = RESIDUALS[config.norm]

    def forward(self, x: Tensor, mask: Mask) -> Tensor:
        """[B, S, D], [B, 1, 1, S] -> [B, S, D]."""
        x = self.residual(x, lambda x: self.self_attention(x, x, mask), self.self_attention_norm, self.dropout)
        return self.residual(x, self.feed_forward, self.feed_forward_norm, self.dropout)


class Decoder(nn.Module):
    """N identical layers with attention to the encoder's output (3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.input_norm = layer_norm(config) if config.embedding_norm else nn.Identity()
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.num_decoder_layers))
        self.output_norm = layer_norm(config) if config.final_norm else nn.Identity()

    def forward(
        self, x: Tensor, memory: Tensor, mask: Mask, memory_mask: Tensor, cache: "DecodedPositions | None" = None
    ) -> Tensor:
        """[B, T, D], [B, S, D], [B, 1, T, T], [B, 1, 1, S] -> [B, T, D]."""
        x = self.input_norm(x)
        for index, layer in enumerate(self.layers):
            x = layer(x, memory, mask, memory_mask, cache.layers[index] if cache else None)
        return self.output_norm(x)


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention, and a feed-forward network (3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.decoder_heads, config.attention_bias)
        self.self_attention_norm = layer_norm(config)
        self.cross_attention = MultiHeadAttention(config.d_model, config.decoder_heads, config.attention_bias)
        self.cross_attention_norm = layer_norm(config)
        self.feed_forward = FeedForward(config, config.decoder_d_ff or config.d_ff)
        self.feed_forward_norm = layer_norm(config)
        self.dropout = Dropout(config.dropout)
        self.residual = RESIDUALS[config.norm]

    def forward(
        self, x: Tensor, memory: Tensor, mask: Mask, memory_mask: Tensor, cache: "LayerPositions | None" = None
    ) -> Tensor:
        """[B, T, D], [B, S, D], [B, 1, T, T], [B, 1, 1, S] -> [B, T, D]."""

        def self_attention(x: Tensor) -> Tensor:
            return self.self_attention(x, x, mask, cache and cache.self_attention)

        def cross_attention(x: Tensor) -> Tensor:
            return self.cross_attention(x, memory, memory_mask, cache and cache.cross_attention)

        x = self.residual(x, self_attention, self.self_attention_norm, self.dropout)
        x = self.residual(x, cross_attention, self.cross_attention_norm, self.dropout)
        return self.residual(x, self.feed_forward, self.feed_forward_norm, self.dropout)


Function = Callable[[Tensor], Tensor]


def post_norm(x: Tensor, sublayer: Function, norm: Function, dropout: Function) -> Tensor:
    """LayerNorm(x + Dropout(Sublayer(x))) (3.1, 5.4)."""
    return norm(x + dropout(sublayer(x)))


def pre_norm(x: Tensor, sublayer: Function, norm: Function, dropout: Function) -> Tensor:
    """x + Dropout(Sublayer(LayerNorm(x))), as Tensor2Tensor computed it soon after the paper."""
    return x + dropout(sublayer(norm(x)))


RESIDUALS = {"post": post_norm, "pre": pre_norm}


def layer_norm(config: TransformerConfig) -> nn.LayerNorm:
    """Layer normalisation (Ba et al. 2016)."""
    return nn.LayerNorm(config.d_model, eps=config.norm_eps)


# --- 3.2 Attention --------------------------------------------------------------------------------------------------


class MultiHeadAttention(nn.Module):
    """h heads of scaled dot-product attention: Concat(head_1 .. head_h) W_O (3.2.2)."""

    def __init__(self, d_model: int, heads: HeadShape, bias: bool = True) -> None:
        super().__init__()
        self.num_heads = heads.num_heads
        self.q_proj = nn.Linear(d_model, heads.num_heads * heads.d_k, bias)
        self.k_proj = nn.Linear(d_model, heads.num_heads * heads.d_k, bias)
        self.v_proj = nn.Linear(d_model, heads.num_heads * heads.d_v, bias)
        self.out_proj = nn.Linear(heads.num_heads * heads.d_v, d_model, bias)
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

    def __init__(self, config: TransformerConfig, d_ff: int) -> None:
        super().__init__()
        self.inner = nn.Linear(config.d_model, d_ff, config.feed_forward_bias)
        self.outer = nn.Linear(d_ff, config.d_model, config.feed_forward_bias)
        self.activation = ACTIVATIONS[config.activation]

    def forward(self, x: Tensor) -> Tensor:
        """[B, L, D] -> [B, L, D]."""
        return self.outer(self.activation(self.inner(x)))


ACTIVATIONS: dict[str, Function] = {"relu": F.relu, "gelu": F.gelu, "swish": F.silu}


# --- 3.4 Embeddings, 3.5 Positional encoding ------------------------------------------------------------------------


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
        positions = self.positions(0, token_ids.size(1)) if position is None else self.positions(position, position + 1)
        return self.dropout(self.tokens(token_ids) * self.scale + positions)


class PatchEmbedding(nn.Module):
    """Dropout(sqrt(d_model) * projection of a patch's pixels + position): an image for the encoder (7).

    One linear projection, as in Dosovitskiy et al. 2021, equation 1, but without their class token, and scaled as
    tokens are (3.4): few pixels of a patch are ink, and their projection is not to be lost beside the position.
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


def positions(config: TransformerConfig) -> "SinusoidalPositions | LearnedPositions":
    """Positional encoding of a configuration (3.5)."""
    return LearnedPositions(config) if config.positions == "learned" else SinusoidalPositions(config)


class SinusoidalPositions(nn.Module):
    """Sines and cosines of geometrically increasing wavelength (3.5). No parameters."""

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
    num_positions: int, d_model: int, *, order: PositionOrder = "interleaved", exponent: PositionExponent = "i/n"
) -> Tensor:
    """Sinusoidal positional encodings (3.5).

    PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos(pos / 10000^(2i / d_model)).

    Args:
        order: `interleaved` as in the paper, or `halves`: all sines, then all cosines.
        exponent: of 10000 for pair i of n = d_model / 2; the paper's is i / n.

    Returns:
        [num_positions, d_model]
    """
    position, n = torch.arange(num_positions, dtype=torch.float64)[:, None], d_model // 2
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
