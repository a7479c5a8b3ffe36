"""What the decoder need not compute twice: the keys and values of the memory, and of everything decoded so far.

The hypotheses of a sentence are the query axis of attention, not rows of the batch. So keys and values are neither
reordered when hypotheses change places nor copied when one has several children: those of every hypothesis ever tried
stay where they are, and a mask by ancestry says which of them a hypothesis descends from.
"""

import torch
from torch import Tensor

from core.decoding import NextLogits
from core.model import KeysValues, MultiHeadAttention, Transformer

FIRST_KEYS = 128  # room for this many keys is made at first, and doubled whenever it runs out


def cached_decoder(model: Transformer, source_ids: Tensor) -> NextLogits:
    """What a search over translations of `source_ids` [B, S] asks for logits. For one search only: it remembers."""
    cache = DecoderCache(model.encode(source_ids), model.source_mask(source_ids), model.config.num_decoder_layers)

    def next_logits(token_ids: Tensor, parents: Tensor, sentences: Tensor | None) -> Tensor:
        if sentences is not None:
            cache.keep(sentences)
        return model.step(token_ids, cache, cache.extend(parents))

    return next_logits


class DecoderCache:
    """All that `Transformer.step` needs to know about the positions before.

    Args:
        memory: [B, S, D] from `Transformer.encode`.
        memory_mask: [B, 1, 1, S] from `Transformer.source_mask`.
        num_layers: of the decoder.

    Attributes:
        length: positions decoded so far.
        ancestry: [B, W, K] which keys belong to each of the hypotheses of the last position.
    """

    def __init__(self, memory: Tensor, memory_mask: Tensor, num_layers: int) -> None:
        self.memory = memory
        self.memory_mask = memory_mask
        self.length = 0
        self.ancestry = torch.ones(memory.size(0), 1, 0, dtype=torch.bool, device=memory.device)
        self.layers = [LayerCache() for _ in range(num_layers)]

    def extend(self, parents: Tensor) -> Tensor:
        """Make room for W hypotheses that continue those of the position before.

        Args:
            parents: [B, W] which hypothesis of the position before each of them continues; zeros at the start.

        Returns:
            [B, 1, W, K] which keys each of them may attend to: its ancestors' and, among the last W, its own.
        """
        width = parents.size(1)
        inherited = self.ancestry.gather(1, parents[:, :, None].expand(-1, -1, self.ancestry.size(2)))
        own = torch.eye(width, dtype=torch.bool, device=parents.device).expand(parents.size(0), width, width)
        self.ancestry = torch.cat((inherited, own), dim=2)
        return self.ancestry[:, None]

    def keep(self, sentences: Tensor) -> None:
        """Go on with these rows of the batch only: [fewer than B] indices."""
        self.memory, self.memory_mask, self.ancestry = self.memory[sentences], self.memory_mask[sentences], self.ancestry[sentences]
        for layer in self.layers:
            layer.keep(sentences)


class LayerCache:
    """The keys and values of one decoder layer. Its methods are what `MultiHeadAttention` takes as `remember`."""

    def __init__(self) -> None:
        self._own: KeysValues | None = None  # [B, H, room, E], of which the first `_num_keys` are in use
        self._num_keys = 0
        self._of_memory: KeysValues | None = None

    def self_attention(self, attention: MultiHeadAttention, states: Tensor) -> KeysValues:
        """Add this position's keys and values to those before: [B, W, D] -> [B, H, K, E] each."""
        start, self._num_keys = self._num_keys, self._num_keys + states.size(1)
        news = attention.keys_values(states)
        if self._own is None:
            self._own = _with_room(news[0][:, :, :0], FIRST_KEYS), _with_room(news[1][:, :, :0], FIRST_KEYS)
        if self._num_keys > self._own[0].size(2):
            room = 2 * self._num_keys
            self._own = _with_room(self._own[0], room), _with_room(self._own[1], room)
        for buffer, new in zip(self._own, news, strict=True):
            buffer[:, :, start : self._num_keys] = new
        return self._own[0][:, :, : self._num_keys], self._own[1][:, :, : self._num_keys]

    def cross_attention(self, attention: MultiHeadAttention, memory: Tensor) -> KeysValues:
        """The memory's keys and values, computed at the first position: [B, S, D] -> [B, H, S, E] each."""
        if self._of_memory is None:
            self._of_memory = attention.keys_values(memory)
        return self._of_memory

    def keep(self, sentences: Tensor) -> None:
        if self._own is not None:
            self._own = self._own[0][sentences], self._own[1][sentences]
        if self._of_memory is not None:
            self._of_memory = self._of_memory[0][sentences], self._of_memory[1][sentences]


def _with_room(filled: Tensor, num_keys: int) -> Tensor:
    """The same keys or values at the head of a longer buffer: [B, H, K, E] -> [B, H, num_keys, E]."""
    buffer = filled.new_empty(*filled.shape[:2], num_keys, filled.size(3))
    buffer[:, :, : filled.size(2)] = filled
    return buffer
