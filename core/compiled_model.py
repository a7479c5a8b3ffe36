"""The model's layers as the compiled functions of `core.native` compute them."""

import ctypes
from collections.abc import Iterable
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.cache import DecoderCache
from core.model import DecoderLayer, EncoderLayer, KeysValues, Transformer
from core.native import library

StepWeights = tuple[Tensor, Tensor]  # [layers, B, W, H, position + 1], in decoder order, and [layers, B, W, H, S]


class CompiledEncoder:
    """The encoder's layers; its weights are copied.

    Args:
        model: in float32 on a CPU.
        dtype: of the copied matrices, see `library.panelled`.
    """

    def __init__(self, compiled: ctypes.CDLL, model: Transformer, dtype: torch.dtype) -> None:
        self._compiled = compiled
        self._heads = model.config.encoder_heads
        self._weights = _Weights(compiled, dtype, dtype)
        layers = [self._layer(layer) for layer in cast("Iterable[EncoderLayer]", model.encoder.layers)]
        self._layers = (library.EncoderLayerStruct * len(layers))(*layers)
        self._epsilon = _epsilon(model)

    def __call__(self, x: Tensor, mask: Tensor, weights: Tensor | None = None) -> Tensor:
        """Compute the memory in place, from the embedded tokens.

        Args:
            x: [B, S, D]. Overwritten.
            mask: [B, 1, 1, S]
            weights: [layers, B, S, H, S], which receives the attention weights of the keys that are not masked.

        Returns:
            [B, S, D]
        """
        x, mask, heads = x.contiguous(), mask.contiguous(), self._heads
        sizes = (*x.shape, heads.num_heads, heads.d_k, heads.d_v, len(self._layers))
        threads = library.threads_for(x.size(0) * x.size(1))
        pointers = mask.data_ptr(), threads, x.data_ptr(), _pointer(weights)
        encoding = library.EncodingStruct(*sizes, self._epsilon, *pointers)
        self._compiled.encode(ctypes.addressof(self._layers), ctypes.addressof(encoding))
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
    """The decoder's layers and the projection to the vocabulary; all weights are copied.

    Args:
        model: in float32 on a CPU.
        dtype: of the copied matrices, see `library.panelled`.
        exact: of the second ones of the feed-forward networks; None: the same.

    Attributes:
        name: of the kind of weights.
    """

    def __init__(
        self, compiled: ctypes.CDLL, model: Transformer, dtype: torch.dtype, exact: torch.dtype | None = None
    ) -> None:
        self.name = f"{str(dtype).removeprefix('torch.')} weights"
        self._compiled = compiled
        self._heads = model.config.decoder_heads
        self._weights = _Weights(compiled, dtype, exact or dtype)
        layers = list(cast("Iterable[DecoderLayer]", model.decoder.layers))
        self._layers = (library.DecoderLayerStruct * len(layers))(*map(self._layer, layers))
        self._memory_projections = [
            self._weights.linear(layer.cross_attention.k_proj, layer.cross_attention.v_proj) for layer in layers
        ]
        self._projection = self._weights.matrix(model.embedding.tokens.weight, None)
        self._epsilon = _epsilon(model)

    def step(self, x: Tensor, cache: DecoderCache, mask: Tensor, weights: StepWeights | None = None) -> Tensor:
        """Decode one position, as `Transformer.step` does from the embedded tokens on.

        Args:
            x: [B, W, D] embeddings of the last token of each hypothesis. Overwritten.
            cache: what was decoded so far; it grows by this position's W keys and values.
            mask: [B, 1, W, K] which of the K keys belong to a hypothesis.
            weights: which receive the attention weights, if self-attention is not restricted.

        Returns:
            [B, W, V] logits of the next token.
        """
        x, mask, memory_mask, heads = x.contiguous(), mask.contiguous(), cache.memory_mask.contiguous(), self._heads
        batch, width, _ = x.shape
        shape = batch, heads.num_heads, 0
        no_keys, no_values = x.new_empty(*shape, heads.d_k), x.new_empty(*shape, heads.d_v)
        logits = x.new_empty(batch, width, self._projection.outputs)
        caches = (library.LayerCacheStruct * len(self._layers))()
        for layer, projection, struct in zip(cache.layers, self._memory_projections, caches, strict=True):
            own = layer.extend(width, no_keys, no_values)
            of_memory = layer.cross_attention(partial(self._keys_values, projection, cache.memory))
            struct.keys, struct.values, struct.memory_keys, struct.memory_values = (
                tensor.data_ptr() for tensor in (*own, *of_memory)
            )
        num_keys, source_length, room = mask.size(3) - width, memory_mask.size(3), cache.layers[0].room
        sizes = (*x.shape, heads.num_heads, heads.d_k, heads.d_v, num_keys, room, source_length, len(self._layers))
        pointers = (tensor.data_ptr() for tensor in (mask, memory_mask, x, logits))
        of_weights = map(_pointer, weights or (None, None))
        threads = library.threads_for(batch * width)
        step = library.StepStruct(*sizes, self._epsilon, *pointers, cache.length, threads, *of_weights)
        self._compiled.decoder_step(*map(ctypes.addressof, (self._layers, caches, self._projection, step)))
        return logits

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
            self._weights.exact(feed_forward.outer),
            *map(norm, (layer.self_attention_norm, layer.cross_attention_norm, layer.feed_forward_norm)),
        )


class _Weights:
    """Copies of weights, kept as long as the structs that point to them."""

    def __init__(self, compiled: ctypes.CDLL, dtype: torch.dtype, exact: torch.dtype) -> None:
        self._panel_width, self._dtype, self._exact = compiled.panel_width(), dtype, exact
        self._tensors: list[Tensor] = []

    def linear(self, *projections: nn.Linear) -> library.LinearStruct:
        """One product for all, their outputs side by side."""
        return self.matrix(torch.cat([p.weight for p in projections]), torch.cat([p.bias for p in projections]))

    def exact(self, projection: nn.Linear) -> library.LinearStruct:
        """A product that is never reduced."""
        return self.matrix(projection.weight, projection.bias, self._exact)

    def matrix(self, weight: Tensor, bias: Tensor | None, dtype: torch.dtype | None = None) -> library.LinearStruct:
        """`x @ weight.T + bias`, from [outputs, inputs] and [outputs]."""
        outputs, inputs = weight.shape
        dtype = dtype or self._dtype
        panels, scales = library.panelled(weight, self._panel_width, dtype)
        padded = None if bias is None else F.pad(bias, (0, -outputs % self._panel_width))
        pointers = map(self._pointer, (panels, padded, scales))
        return library.LinearStruct(*pointers, library.KINDS[dtype], inputs, outputs)

    def norm(self, norm: nn.LayerNorm) -> library.NormStruct:
        return library.NormStruct(self._pointer(norm.weight), self._pointer(norm.bias))

    def _pointer(self, tensor: Tensor | None) -> int | None:
        if tensor is None:
            return None
        self._tensors.append(tensor.detach().clone(memory_format=torch.contiguous_format))
        return self._tensors[-1].data_ptr()


def _pointer(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


def _epsilon(model: Transformer) -> float:
    return next(module.eps for module in model.modules() if isinstance(module, nn.LayerNorm))
