"""Key-value cache of incremental decoding: keys and values of the memory, and of all positions decoded so far.

The hypotheses of a sentence are the query axis of attention, not rows of the batch. So keys and values are neither
reordered when hypotheses change places nor copied when one has several children: they stay in place, and an ancestry
mask tells which of them each hypothesis descends from. Keys without descendants are dropped when room runs out.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from core.decoding import ChainLogits, NextLogits
from core.model import KeysValues, Transformer
from core.model.config import TransformerConfig
from core.native import library as native

FIRST_KEYS = 64  # initial room for keys, and least increase when it runs out


def chain_decoder(model: Transformer, source_ids: Tensor) -> ChainLogits:
    """Scorer of next tokens along one translation of `source_ids` [1, S]."""
    cache = empty_cache(model.config, model.encode(source_ids), model.source_mask(source_ids))

    def logits(token_ids: Sequence[int], start: int) -> Tensor:
        cache.truncate(start)
        fed = torch.tensor([token_ids], device=source_ids.device)
        return model.extend(fed, cache, cache.chain_mask(len(token_ids)))[0]

    return logits


def cached_decoder(model: Transformer, source_ids: Tensor) -> NextLogits:
    """Scorer of next tokens for one search over translations of `source_ids` [B, S]."""
    cache = empty_cache(model.config, model.encode(source_ids), model.source_mask(source_ids))

    def next_logits(token_ids: Tensor, parents: Tensor, sentences: Tensor | None) -> Tensor:
        if sentences is not None:
            cache.keep(sentences)
        return model.step(token_ids, cache, cache.extend(parents))

    return next_logits


def empty_cache(config: TransformerConfig, memory: Tensor, memory_mask: Tensor) -> "DecoderCache":
    """A cache for a whole model, see `DecoderCache`."""
    return DecoderCache(memory, memory_mask, config.num_decoder_layers, config.neighbourhood, config.relative)


class DecoderCache:
    """State of incremental decoding for `Transformer.step`.

    Args:
        memory: [B, S, D] from `Transformer.encode`.
        memory_mask: [B, 1, 1, S] from `Transformer.source_mask`.
        num_layers: of the decoder.
        neighbourhood: number of last positions that self-attention is restricted to (section 4); None for all.
        has_distances: whether the model has relative positions.

    Attributes:
        length: number of positions decoded.
        ancestry: [B, W, K] which keys each hypothesis of the last position descends from.
        distances: [1 or B, Q, K] position of each key minus those that the last mask is for, if `has_distances`.
        pointers: of compiled steps, to the keys and values of all layers, see `reserve`.
    """

    def __init__(
        self,
        memory: Tensor,
        memory_mask: Tensor,
        num_layers: int,
        neighbourhood: int | None = None,
        has_distances: bool = False,
    ) -> None:
        self.memory = memory
        self.memory_mask = memory_mask
        self.length = 0
        self.ancestry = torch.ones(memory.size(0), 1, 0, dtype=torch.bool, device=memory.device)
        self.layers = [LayerCache() for _ in range(num_layers)]
        self.distances = torch.empty(1, 0, 0, dtype=torch.long, device=memory.device)
        self._neighbourhood = neighbourhood
        self._has_distances, self._has_positions = has_distances, has_distances or neighbourhood is not None
        self._positions = torch.empty(memory.size(0), 0, dtype=torch.long, device=memory.device)  # [B, K] of the keys
        self._room = FIRST_KEYS
        self.pointers: object = None
        self._pointed_room = 0

    def reserve(self, width: int) -> bool:
        """Count W more keys in all layers if `pointers` are valid: no tensor has moved, and each has room for them."""
        room = self._pointed_room
        if self.pointers is None or any(each.room != room or each.num_keys + width > room for each in self.layers):
            return False  # a tensor that moves has more room
        for layer in self.layers:
            layer.num_keys += width
        return True

    def point(self, pointers: object) -> None:
        """Keep the `pointers` to the tensors of all layers."""
        self.pointers, self._pointed_room = pointers, self.layers[0].room

    def extend(self, parents: Tensor) -> Tensor:
        """Make room for W hypotheses that continue those of the previous position.

        Args:
            parents: [B, W] index of each one's parent among the previous hypotheses; zeros at the start.

        Returns:
            [B, 1, W, K] which keys each may attend to: its ancestors' and, among the last W, its own.
        """
        width = parents.size(1)
        if self.ancestry.size(2) + width > self._room:
            self._drop_unused_keys()
            needed = self.ancestry.size(2) + width
            self._room = max(self._room, needed + max(FIRST_KEYS, needed // 8))
        self.ancestry = _extended(self.ancestry, parents)
        # keys outside the window have no descendants, so they are dropped when room runs out
        if self._neighbourhood:
            self.ancestry[:, :, :-width] &= (self._positions > self.length - self._neighbourhood)[:, None]
        if self._has_positions:
            self._positions = F.pad(self._positions, (0, width), value=self.length)
        if self._has_distances:
            self.distances = (self._positions - self.length)[:, None]
        return self.ancestry[:, None]

    def chain_mask(self, count: int) -> Tensor:
        """Keys that each of one hypothesis's next `count` positions may attend to: [1, 1, count, length + count]."""
        key = torch.arange(self.length + count, device=self.memory.device)
        query = key[self.length :, None]
        mask = key <= query
        if self._neighbourhood:
            mask &= key > query - self._neighbourhood
        if self._has_distances:
            self.distances = (key - query)[None]
        return mask[None, None]

    def truncate(self, length: int) -> None:
        """Keep the first `length` positions of a single hypothesis."""
        if length < self.length:
            self.length = length
            for layer in self.layers:
                layer.truncate(length)

    def keep(self, sentences: Tensor) -> None:
        """Keep only these rows of the batch, given as indices; a row that stays at its index is not moved."""
        self.pointers = None
        self.memory, self.memory_mask = self.memory[sentences], self.memory_mask[sentences]
        self.ancestry = self.ancestry[sentences]
        self._positions = self._positions[sentences]
        moved = (sentences != torch.arange(len(sentences), device=sentences.device)).nonzero().squeeze(1)
        for layer in self.layers:
            layer.keep(len(sentences), moved, sentences[moved])

    def _drop_unused_keys(self) -> None:
        """Drop keys that no current hypothesis of their sentence descends from."""
        used = self.ancestry.any(1)  # [B, K]
        most = int(used.sum(1).max())
        # sentences that use fewer keep some unused ones
        kept = used.byte().argsort(dim=1, descending=True, stable=True)[:, :most]
        self.ancestry = self.ancestry.gather(2, kept[:, None].expand(-1, self.ancestry.size(1), -1))
        if self._has_positions:
            self._positions = self._positions.gather(1, kept)
        for layer in self.layers:
            layer.keep_keys(kept)


class LayerCache:
    """Cached keys and values of one decoder layer, for `MultiHeadAttention`."""

    def __init__(self) -> None:
        self._own: KeysValues | None = None  # [B, H, room, E], of which the first `num_keys` are in use
        self.num_keys = 0
        self._of_memory: KeysValues | None = None

    def self_attention(self, keys_values: Callable[[], KeysValues]) -> KeysValues:
        """Add this position's keys and values, [B, H, W, E] each, and return those up to it: [B, H, K, E] each."""
        new_keys, new_values = keys_values()
        start = self.num_keys
        buffers = self.extend(new_keys.size(2), new_keys[:, :, :0], new_values[:, :, :0])
        keys, values = (buffer[:, :, : self.num_keys] for buffer in buffers)
        keys[:, :, start:], values[:, :, start:] = new_keys, new_values
        return keys, values

    @property
    def room(self) -> int:
        """Number of keys that fit the buffers."""
        return 0 if self._own is None else self._own[0].size(2)

    def extend(self, width: int, no_keys: Tensor, no_values: Tensor) -> KeysValues:
        """Make room for the keys and values of this position, which the caller writes behind those before.

        Args:
            width: how many they are.
            no_keys, no_values: [B, H, 0, E] whose shape and type the buffers are to have.

        Returns:
            [B, H, room, E] each
        """
        self.num_keys += width
        if self._own is None:
            self._own = _with_room(no_keys, FIRST_KEYS), _with_room(no_values, FIRST_KEYS)
        if self.num_keys > self.room:
            self._own = _with_room(self._own[0], 2 * self.num_keys), _with_room(self._own[1], 2 * self.num_keys)
        return self._own

    def cross_attention(self, keys_values: Callable[[], KeysValues]) -> KeysValues:
        """The memory's keys and values, computed at the first position: [B, H, S, E] each."""
        if self._of_memory is None:
            keys, values = keys_values()
            self._of_memory = keys.contiguous(), values.contiguous()
        return self._of_memory

    def truncate(self, num_keys: int) -> None:
        """Keep the first keys and values of the decoded positions."""
        self.num_keys = num_keys

    def keep(self, count: int, places: Tensor, sources: Tensor) -> None:
        """Keep the first `count` rows of the batch, after the rows of `sources` have replaced those of `places`."""
        self._own, self._of_memory = (
            pair and (_rows(pair[0], count, places, sources), _rows(pair[1], count, places, sources))
            for pair in (self._own, self._of_memory)
        )

    def keep_keys(self, kept: Tensor) -> None:
        """Move the keys and values still needed to the front: [B, fewer than K] indices."""
        if self._own is not None:
            for buffer in self._own:
                index = kept[:, None, :, None].expand(-1, buffer.size(1), -1, buffer.size(3))
                buffer[:, :, : kept.size(1)] = buffer.gather(2, index)
            self.num_keys = kept.size(1)


def _extended(ancestry: Tensor, parents: Tensor) -> Tensor:
    """Ancestry of the next hypotheses, which continue those of indices [B, W']: [B, W, K] -> [B, W', K + W']."""
    if (compiled := native.library()) and ancestry.device.type == "cpu":
        return native.extended_ancestry(compiled, ancestry, parents)
    width = parents.size(1)
    inherited = ancestry.gather(1, parents[:, :, None].expand(-1, -1, ancestry.size(2)))
    own = torch.eye(width, dtype=torch.bool, device=parents.device).expand(parents.size(0), width, width)
    return torch.cat((inherited, own), dim=2)


def _rows(buffer: Tensor, count: int, places: Tensor, sources: Tensor) -> Tensor:
    """The first rows of a buffer, after later ones have been copied into them."""
    if len(places):
        buffer[places] = buffer[sources]
    return buffer[:count]


def _with_room(filled: Tensor, num_keys: int) -> Tensor:
    """Copy to the start of a longer buffer: [B, H, K, E] -> [B, H, num_keys, E]."""
    buffer = filled.new_empty(*filled.shape[:2], num_keys, filled.size(3))
    buffer[:, :, : filled.size(2)] = filled
    return buffer
