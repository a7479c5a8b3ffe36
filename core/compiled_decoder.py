"""The decoder's weights as the compiled step reads them."""

import ctypes
from collections.abc import Iterable, Sequence
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.cache import DecoderCache
from core.model import DecoderLayer, MultiHeadAttention, Transformer
from core.native import library


class CompiledDecoder:
    """The decoder and the projection to the vocabulary, with all weights as the library reads them.

    Args:
        model: in float32 on a CPU, in its own modules. Its weights are copied.
        cross_attentions: of each layer, what computes the memory's keys and values.
        dtype: of the copied matrices, see `library.panelled`.

    Attributes:
        name: of the kind of weights.
    """

    def __init__(
        self,
        compiled: ctypes.CDLL,
        model: Transformer,
        cross_attentions: Sequence[MultiHeadAttention],
        dtype: torch.dtype,
    ) -> None:
        self.name = f"{str(dtype).removeprefix('torch.')} weights"
        self._compiled = compiled
        self._cross_attentions = cross_attentions
        self._heads = model.config.decoder_heads
        layers = cast("Iterable[DecoderLayer]", model.decoder.layers)
        self._tensors: list[Tensor | None] = []  # those that the structs point to
        self._layers = [self._layer(layer, dtype) for layer in layers]
        self._structs = (library.LayerStruct * len(self._layers))(*self._layers)
        self._projection = self._linear(dtype, model.embedding.tokens.weight, None)
        self._epsilon = next(module.eps for module in model.modules() if isinstance(module, nn.LayerNorm))

    def step(self, x: Tensor, cache: DecoderCache, mask: Tensor) -> Tensor:
        """Decode one position, as `Transformer.step` does from the embedded tokens on.

        Args:
            x: [B, W, D] embeddings of the last token of each hypothesis. Overwritten.
            cache: what was decoded so far; it grows by this position's W keys and values.
            mask: [B, 1, W, K] which of the K keys belong to a hypothesis.

        Returns:
            [B, W, V] logits of the next token.
        """
        x, mask, memory_mask = x.contiguous(), mask.contiguous(), cache.memory_mask.contiguous()
        (batch, width, d_model), heads = x.shape, self._heads
        num_heads, d_k, d_v = heads.num_heads, heads.d_k, heads.d_v
        logits = x.new_empty(batch, width, self._projection.outputs)
        caches = (library.LayerCacheStruct * len(self._layers))()
        no_keys, no_values = x.new_empty(batch, num_heads, 0, d_k), x.new_empty(batch, num_heads, 0, d_v)
        for layer, attention, struct in zip(cache.layers, self._cross_attentions, caches, strict=True):
            keys, values = layer.extend(width, no_keys, no_values)
            memory_keys, memory_values = layer.cross_attention(partial(attention.keys_values, cache.memory))
            struct.keys, struct.values = keys.data_ptr(), values.data_ptr()
            struct.memory_keys, struct.memory_values = memory_keys.data_ptr(), memory_values.data_ptr()
        num_keys, source_length, room = mask.size(3) - width, memory_mask.size(3), cache.layers[0].room
        sizes = (batch, width, d_model, num_heads, d_k, d_v, num_keys, room, source_length)
        pointers = (tensor.data_ptr() for tensor in (mask, memory_mask, x, logits))
        step = library.StepStruct(*sizes, len(self._layers), self._epsilon, *pointers)
        addresses = (ctypes.addressof(struct) for struct in (self._structs, caches, self._projection, step))
        self._compiled.decoder_step(*addresses)
        return logits

    def _layer(self, layer: DecoderLayer, dtype: torch.dtype) -> library.LayerStruct:
        own, cross = layer.self_attention, layer.cross_attention
        projections = (own.q_proj, own.k_proj, own.v_proj)
        weight, bias = torch.cat([p.weight for p in projections]), torch.cat([p.bias for p in projections])
        linears = (own.out_proj, cross.q_proj, cross.out_proj, layer.feed_forward.inner, layer.feed_forward.outer)
        norms = (layer.self_attention_norm, layer.cross_attention_norm, layer.feed_forward_norm)
        return library.LayerStruct(
            self._linear(dtype, weight, bias),
            *(self._linear(dtype, linear.weight, linear.bias) for linear in linears),
            *(library.NormStruct(self._pointer(norm.weight), self._pointer(norm.bias)) for norm in norms),
        )

    def _linear(self, dtype: torch.dtype, weight: Tensor, bias: Tensor | None) -> library.LinearStruct:
        panels, scales = library.panelled(weight, self._compiled.panel_width(), dtype)
        outputs, inputs = weight.shape
        padded = None if bias is None else F.pad(bias, (0, -outputs % self._compiled.panel_width()))
        pointers = (self._pointer(tensor) for tensor in (panels, padded, scales))
        return library.LinearStruct(*pointers, library.KINDS[dtype], inputs, outputs)

    def _pointer(self, tensor: Tensor | None) -> int | None:
        self._tensors.append(tensor := tensor if tensor is None else tensor.detach().contiguous())
        return None if tensor is None else tensor.data_ptr()
