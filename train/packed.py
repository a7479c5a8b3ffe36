"""Training without padding: the layers of `core.model` on the rows of a `PackedBatch`, for a GPU.

Everything but attention works on single rows, so the modules of `core.model` compute it. Attention is within sentences:
on CUDA by PyTorch's kernel for sequences of any lengths, which needs no mask and no plan for each shape.
"""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.model import DecoderLayer, Embedding, EncoderLayer, MultiHeadAttention, Transformer
from core.model.config import TransformerConfig
from core.model.training import smoothed_nll
from train.data.packed_batch import PackedBatch
from train.loss import Loss

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclasses.dataclass(frozen=True)
class Sentences:
    """Where each sentence's rows are: `starts` [B + 1] int32, none with more than `longest` rows."""

    starts: Tensor
    longest: int


def refusal(config: TransformerConfig) -> str | None:
    """Return why a model cannot be trained without padding, or None."""
    if not config.autoregressive or config.patch_size:
        return "a model without causal mask or with pictures is trained on padded batches"
    if config.relative or config.neighbourhood:
        return "relative positions and neighbourhoods need masks, and masks padded batches"
    if any(heads.d_k != heads.d_v for heads in (config.encoder_heads, config.decoder_heads)):
        return "the kernel needs keys and values of one width (d_k = d_v)"
    return None


class PackedLoss(nn.Module):
    """A model with the loss of `train.loss.TranslationLoss`, for packed batches.

    Args:
        compiled: compile an encoder layer, a decoder layer and the cross-entropy, each once for all layers and batches;
            on a GPU, as the attention of CPUs is a loop.
        backend: of `torch.compile`.

    Raises:
        ValueError: the model cannot be trained without padding.
    """

    def __init__(
        self, model: Transformer, label_smoothing: float, compiled: bool = False, backend: Any = "inductor"
    ) -> None:
        super().__init__()
        if reason := refusal(model.config):
            raise ValueError(f"--bucketing packed does not fit this model: {reason}; choose another --bucketing")
        self.model = model
        self.label_smoothing = label_smoothing

        def prepared(function: Function) -> Function:
            if not compiled:
                return function
            return cast(Function, torch.compile(function, fullgraph=True, dynamic=False, backend=backend))

        self._encoder_layer, self._decoder_layer = prepared(encoder_layer), prepared(decoder_layer)
        self._cross_entropy = prepared(cross_entropy)

    def forward(self, batch: PackedBatch) -> Loss:
        model = self.model
        source, target = (Sentences(starts, batch.longest) for starts in (batch.source_starts, batch.target_starts))
        memory = model.encoder.input_norm(embed(model.embedding, batch.source, batch.source_positions, batch.longest))
        for layer in cast(Iterable[EncoderLayer], model.encoder.layers):
            memory = self._encoder_layer(layer, memory, source)
        memory = model.encoder.output_norm(memory)
        x = embed(model.fed_embedding, batch.target_in, batch.target_positions, batch.longest)
        x = model.decoder.input_norm(x)
        for layer in cast(Iterable[DecoderLayer], model.decoder.layers):
            x = self._decoder_layer(layer, x, memory, target, source)
        x = model.decoder.output_norm(x)
        real = batch.target_out != model.config.pad_id
        return Loss(
            *self._cross_entropy(x, model.unembedding, model.output_bias, batch.target_out, real, self.label_smoothing)
        )


def embed(embedding: Embedding, token_ids: Tensor, positions: Tensor, longest: int) -> Tensor:
    """Dropout(sqrt(d_model) * token embedding + position) (3.4, 3.5, 5.4): [R], [R] -> [R, D]."""
    table = embedding.positions(0, longest)
    return embedding.dropout(embedding.tokens(token_ids) * embedding.scale + table[positions])


def encoder_layer(layer: EncoderLayer, x: Tensor, sentences: Sentences) -> Tensor:
    """`EncoderLayer.forward` on rows: [R, D] -> [R, D]."""

    def self_attention(x: Tensor) -> Tensor:
        return self_attend(layer.self_attention, x, sentences, causal=False)

    x = layer.residual(x, self_attention, layer.self_attention_norm, layer.dropout)
    return layer.residual(x, layer.feed_forward, layer.feed_forward_norm, layer.dropout)


def decoder_layer(layer: DecoderLayer, x: Tensor, memory: Tensor, target: Sentences, source: Sentences) -> Tensor:
    """`DecoderLayer.forward` on rows: [R, D], [R, D] -> [R, D]."""

    def self_attention(x: Tensor) -> Tensor:
        return self_attend(layer.self_attention, x, target, causal=True)

    def cross_attention(x: Tensor) -> Tensor:
        attention = layer.cross_attention
        keys, values = products((attention.k_proj, attention.v_proj), memory)
        return attend(attention, attention.q_proj(x), keys, values, target, source, causal=False)

    x = layer.residual(x, self_attention, layer.self_attention_norm, layer.dropout)
    x = layer.residual(x, cross_attention, layer.cross_attention_norm, layer.dropout)
    return layer.residual(x, layer.feed_forward, layer.feed_forward_norm, layer.dropout)


def self_attend(attention: MultiHeadAttention, x: Tensor, sentences: Sentences, causal: bool) -> Tensor:
    """[R, D] -> [R, D]."""
    queries, keys, values = products((attention.q_proj, attention.k_proj, attention.v_proj), x)
    return attend(attention, queries, keys, values, sentences, sentences, causal)


def products(projections: tuple[nn.Linear, ...], x: Tensor) -> tuple[Tensor, ...]:
    """Several projections of `x` as one product: [R, D] -> [R, H * E] each."""
    weight = torch.cat(tuple(projection.weight for projection in projections))
    biases = [projection.bias for projection in projections]
    bias = None if biases[0] is None else torch.cat(tuple(biases))  # pyright: ignore[reportUnnecessaryComparison]
    return F.linear(x, weight, bias).split([projection.out_features for projection in projections], dim=-1)


def attend(
    attention: MultiHeadAttention,
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    of_queries: Sentences,
    of_keys: Sentences,
    causal: bool,
) -> Tensor:
    """Heads and their output projection (3.2.2): [R, H * E] each -> [R, D]."""
    queries, keys, values = (x.unflatten(-1, (attention.num_heads, -1)) for x in (queries, keys, values))
    return attention.out_proj(packed_attention(queries, keys, values, of_queries, of_keys, causal).flatten(1))


def packed_attention(
    queries: Tensor, keys: Tensor, values: Tensor, of_queries: Sentences, of_keys: Sentences, causal: bool
) -> Tensor:
    """Scaled dot-product attention (3.2.1) from each sentence to its counterpart: [R, H, E] each -> [R, H, E]."""
    if queries.device.type != "cuda":
        return _sentence_by_sentence(queries, keys, values, of_queries, of_keys, causal)
    from torch.nn.attention.varlen import varlen_attn  # PyTorch has it on CUDA alone

    window = (-1, 0 if causal else -1)
    starts, longest = (of_queries.starts, of_keys.starts), (of_queries.longest, of_keys.longest)
    return cast(Tensor, varlen_attn(queries, keys, values, *starts, *longest, window_size=window))


def _sentence_by_sentence(
    queries: Tensor, keys: Tensor, values: Tensor, of_queries: Sentences, of_keys: Sentences, causal: bool
) -> Tensor:
    """`packed_attention`, for processors."""
    sides = [sentences.starts.diff().tolist() for sentences in (of_queries, of_keys, of_keys)]
    parts = [
        F.scaled_dot_product_attention(*(x.transpose(0, 1) for x in rows), is_causal=causal).transpose(0, 1)
        for rows in zip(*(x.split(side) for x, side in zip((queries, keys, values), sides, strict=True)), strict=True)
        if len(rows[0])
    ]
    return torch.cat(parts)


def cross_entropy(
    states: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor, real: Tensor, label_smoothing: float
) -> tuple[Tensor, Tensor]:
    """Label-smoothed cross-entropy and negative log-likelihood, summed over the real rows (5.4).

    Args:
        states: [R, D]
        weight: [V, D]
        bias: [V], or None
        labels: [R] integers below V
        real: [R], False for rows without a label
    """
    logits = F.linear(states, weight, bias).float()  # [R, V]
    log_total = logits.logsumexp(-1)
    nll = ((log_total - logits.gather(-1, labels[:, None])[:, 0]) * real).sum()
    uniform = ((log_total - logits.mean(-1)) * real).sum()
    return smoothed_nll(nll, uniform, label_smoothing), nll.detach()
