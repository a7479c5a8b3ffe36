"""The model's layers, computed by the compiled functions of `core.native`."""

import ctypes
from collections.abc import Iterable
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn

from core.decoding.cache import DecoderCache
from core.model import Decoder, DecoderLayer, Encoder, EncoderLayer, KeysValues, Transformer
from core.model.config import HeadShape, TransformerConfig
from core.model.half_precision import HALVES, is_large, kept_types, stored_weight
from core.native import library


class CompiledEncoder:
    """The encoder's layers and norms; `name` is that of the kind of weights.

    Args:
        model: on a CPU, in float32 but for matrices that are kept in half precision.
        dtype: of the matrices in float32, see `library.Matrix`; bfloat16: of all.
    """

    def __init__(self, compiled: ctypes.CDLL, model: Transformer, dtype: torch.dtype) -> None:
        self.name = name_of_weights(model, dtype)
        self._compiled = compiled
        self._heads = model.config.encoder_heads
        self._weights = _Weights(compiled, model, dtype, dtype)
        layers = [self._layer(layer) for layer in cast("Iterable[EncoderLayer]", model.encoder.layers)]
        self._layers = (library.EncoderLayerStruct * len(layers))(*layers)
        self._stack = self._weights.stack(model.config, self._layers, self._heads, model.encoder)

    def __call__(self, x: Tensor, mask: Tensor) -> Tensor:
        """Compute the memory in place, from the embedded tokens.

        Args:
            x: [B, S, D]. Overwritten.
            mask: [B, 1, 1, S]; False at the end of a row is padding, whose memory is 0.

        Returns:
            [B, S, D]
        """
        x, mask = x.contiguous(), mask.contiguous()
        batch, length, _ = x.shape
        threads = library.threads_for(batch * length)
        encoding = library.EncodingStruct(batch, length, mask.data_ptr(), threads, x.data_ptr())
        self._compiled.encode(ctypes.addressof(self._stack), ctypes.addressof(encoding))
        return x

    def _layer(self, layer: EncoderLayer) -> library.EncoderLayerStruct:
        linear, norm = self._weights.linear, self._weights.norm
        attention, feed_forward = layer.self_attention, layer.feed_forward
        return library.EncoderLayerStruct(
            linear(attention.q_proj, attention.k_proj, attention.v_proj),
            *map(linear, (attention.out_proj, feed_forward.inner, feed_forward.outer)),
            *(norm(each) for each in (layer.self_attention_norm, layer.feed_forward_norm)),
        )


class CompiledDecoder:
    """The decoder's layers and the projection to the vocabulary; `name` is that of the kind of weights.

    Args:
        model: on a CPU, in float32 but for matrices that are kept in half precision.
        dtype: of the matrices in float32, see `library.Matrix`; int8: of all.
        outer: the same for the second matrices of the feed-forward networks; None: as `dtype`.
    """

    def __init__(
        self, compiled: ctypes.CDLL, model: Transformer, dtype: torch.dtype, outer: torch.dtype | None = None
    ) -> None:
        self.name = name_of_weights(model, dtype, *([outer] if outer in library.REDUCED else []))
        self._compiled = compiled
        self._heads = model.config.decoder_heads
        self._weights = _Weights(compiled, model, dtype, outer or dtype)
        layers = list(cast("Iterable[DecoderLayer]", model.decoder.layers))
        self._layers = (library.DecoderLayerStruct * len(layers))(*map(self._layer, layers))
        self._memory_projections = [
            self._weights.linear(layer.cross_attention.k_proj, layer.cross_attention.v_proj) for layer in layers
        ]
        self._projection = self._weights.matrix(stored_weight(model.output_layer), model.output_bias)
        self._stack = self._weights.stack(model.config, self._layers, self._heads, model.decoder)

    def step(self, x: Tensor, cache: DecoderCache, mask: Tensor) -> Tensor:
        """Decode one position, as `Transformer.step` does from the embedded tokens on.

        Args:
            x: [B, W, D] embeddings of the last token of each hypothesis. Overwritten.
            cache: the positions decoded so far; it grows by this position's W keys and values.
            mask: [B, 1, W, K] which of the K keys belong to a hypothesis.

        Returns:
            [B, W, V] logits of the next token.
        """
        x, mask, memory_mask = x.contiguous(), mask.contiguous(), cache.memory_mask.contiguous()
        batch, width, _ = x.shape
        logits = x.new_empty(batch, width, self._projection.outputs)
        caches = self._reserve(cache, x)
        num_keys, source_length, room = mask.size(3) - width, memory_mask.size(3), cache.layers[0].room
        sizes = batch, width, num_keys, room, source_length
        pointers = mask.data_ptr(), memory_mask.data_ptr(), x.data_ptr(), logits.data_ptr()
        rows = batch * width
        threads = library.threads_for(rows), library.threads_of_product(rows, self._projection)
        step = library.StepStruct(*sizes, *pointers, *threads)
        self._compiled.decoder_step(*map(ctypes.addressof, (self._stack, caches, self._projection, step)))
        return logits

    def _reserve(self, cache: DecoderCache, x: Tensor) -> "ctypes.Array[library.LayerCacheStruct]":
        """Make room for the keys and values of a position.

        Args:
            x: [B, W, D] embeddings of that position.

        Returns:
            Pointers to the tensors of each layer. The cache keeps them as long as no tensor moves.
        """
        (batch, width, _), heads = x.shape, self._heads
        if cache.reserve(width):
            return cast("ctypes.Array[library.LayerCacheStruct]", cache.pointers)
        shape = batch, heads.num_heads, 0
        no_keys, no_values = x.new_empty(*shape, heads.d_k), x.new_empty(*shape, heads.d_v)
        caches = (library.LayerCacheStruct * len(self._layers))()
        for layer, projection, struct in zip(cache.layers, self._memory_projections, caches, strict=True):
            own = layer.extend(width, no_keys, no_values)
            of_memory = layer.cross_attention(partial(self._keys_values, projection, cache.memory))
            struct.keys, struct.values, struct.memory_keys, struct.memory_values = (
                tensor.data_ptr() for tensor in (*own, *of_memory)
            )
        cache.point(caches)
        return caches

    def _keys_values(self, projection: library.LinearStruct, memory: Tensor) -> KeysValues:
        """[B, S, D] -> keys [B, H, S, d_k] and values [B, H, S, d_v]."""
        memory, heads = memory.contiguous(), self._heads
        batch, length, _ = memory.shape
        keys, values = (memory.new_empty(batch, heads.num_heads, length, width) for width in (heads.d_k, heads.d_v))
        sizes = batch, length, heads.num_heads, heads.d_k, heads.d_v, library.threads_for(batch * length)
        pointers = ctypes.addressof(projection), memory.data_ptr()
        self._compiled.keys_values(*pointers, *sizes, keys.data_ptr(), values.data_ptr())
        return keys, values

    def _layer(self, layer: DecoderLayer) -> library.DecoderLayerStruct:
        linear, norm = self._weights.linear, self._weights.norm
        own, cross, feed_forward = layer.self_attention, layer.cross_attention, layer.feed_forward
        return library.DecoderLayerStruct(
            linear(own.q_proj, own.k_proj, own.v_proj),
            *map(linear, (own.out_proj, cross.q_proj, cross.out_proj, feed_forward.inner)),
            self._weights.outer(feed_forward.outer),
            *map(norm, (layer.self_attention_norm, layer.cross_attention_norm, layer.feed_forward_norm)),
        )


class _Weights:
    """Weights, kept as long as the structs that point to them.

    Those of a large model are not copied, except where they are joined or their precision is reduced.
    """

    def __init__(self, compiled: ctypes.CDLL, model: Transformer, dtype: torch.dtype, outer: torch.dtype) -> None:
        self._compiled, self._dtype, self._outer = compiled, dtype, outer
        self._is_large = is_large(model)
        self._kept: list[library.Matrix | Tensor] = []

    def linear(self, *projections: nn.Linear) -> library.LinearStruct:
        """One product for several layers, their outputs side by side."""
        return self.matrix(*joined(*projections))

    def outer(self, projection: nn.Linear) -> library.LinearStruct:
        """The second product of a feed-forward network."""
        return self.matrix(stored_weight(projection), projection.bias, self._outer)

    def matrix(self, weight: Tensor, bias: Tensor | None, dtype: torch.dtype | None = None) -> library.LinearStruct:
        """`x @ weight.T + bias`, from [outputs, inputs] and [outputs]."""
        dtype = dtype or self._dtype
        is_kept = weight.dtype in HALVES and dtype not in library.REDUCED
        layout = None if is_kept or (dtype == torch.float32 and self._is_large) else dtype
        self._kept.append(matrix := library.Matrix(self._compiled, weight, bias, layout))
        return matrix.struct

    def norm(self, norm: nn.Module) -> library.NormStruct:
        """A LayerNorm; pointers to nothing for an `nn.Identity`."""
        if not isinstance(norm, nn.LayerNorm):
            return library.NormStruct(None, None)
        copies = [tensor.detach().clone() for tensor in (norm.weight, norm.bias)]
        self._kept += copies
        return library.NormStruct(*(tensor.data_ptr() for tensor in copies))

    def stack(
        self, config: TransformerConfig, layers: ctypes.Array[Any], heads: HeadShape, stack: Encoder | Decoder
    ) -> library.StackStruct:
        """The layers of `stack` with their common parts."""
        sizes = len(layers), config.d_model, *heads, config.norm == "pre", library.ACTIVATIONS[config.activation]
        norms = map(self.norm, (stack.input_norm, stack.output_norm))
        return library.StackStruct(ctypes.addressof(layers), *sizes, *norms, config.norm_eps)


def name_of_weights(model: Transformer, *types: torch.dtype) -> str:
    """Name of the types of a model's matrices: `types`, or those that the model is kept in if these are not reduced."""
    kept = () if library.REDUCED.keys() & set(types) else kept_types(model)
    return " and ".join(sorted({str(each).removeprefix("torch.") for each in kept or types})) + " weights"


def joined(*projections: nn.Linear) -> tuple[Tensor, Tensor | None]:
    """Weight and bias of projections of one input as one, outputs side by side; all have a bias, or none has."""
    weights = [stored_weight(each) for each in projections]
    biases: list[Tensor] = [each.bias for each in projections if has_bias(each)]
    if len(projections) > 1:
        return torch.cat(weights), torch.cat(biases) if biases else None
    return weights[0], biases[0] if biases else None


def has_bias(projection: nn.Linear) -> bool:
    """Whether a layer has a bias, which PyTorch's annotation of `bias` does not say."""
    return isinstance(projection.bias, Tensor)
