"""Attention, its inputs and feed-forward activations of a batch, in one pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from core.analysis.heads.corpus_maps import Pair, batch_maps
from core.analysis.heads.head import Maps, attention_layers, key_outputs
from core.model import FeedForward, Transformer
from core.trace import STACKS, Kind, Stack, attention_place, record
from core.translator import Translator


class Neuron(NamedTuple):
    """Hidden unit of a feed-forward network, counted from 0."""

    stack: Stack
    layer: int
    neuron: int

    def __str__(self) -> str:
        """Display name, counted from 1: `encoder L3 N512`."""
        return f"{self.stack} L{self.layer + 1} N{self.neuron + 1}"


@dataclass(frozen=True)
class RecordedBatch:
    """Record of one forward pass over B sentences; tensors are padded on the right."""

    maps: list[Maps]  # the attention maps of each sentence, without padding
    values: dict[tuple[Kind, int], Tensor]  # [B, H, K, d_v] of the keys of every attention layer, see `key_outputs`
    activations: dict[tuple[Stack, int], Tensor]  # [B, L, d_ff] of every feed-forward network, see `FeedForward.hidden`


@torch.inference_mode()
def record_batch(translator: Translator, pairs: Sequence[Pair]) -> RecordedBatch:
    """Run sentences and their translations through the model, teacher-forced.

    Raises:
        ValueError: as `Translator.token_ids`.
    """
    with translator.inspect() as model:
        memories = {key: attention_place(*key, "memory") for key in attention_layers(model)}
        activations = {key: "{}.{}.feed_forward.hidden".format(*key) for key in feed_forward_networks(model)}
        with record(model, [*memories.values(), *activations.values()]) as recorded:
            maps = batch_maps(translator, pairs)
        values = key_outputs(model, {key: recorded[place] for key, place in memories.items()})
    return RecordedBatch(maps, values, {key: recorded[place] for key, place in activations.items()})


def feed_forward_networks(model: Transformer) -> dict[tuple[Stack, int], FeedForward]:
    """Feed-forward networks of a model by stack and layer, in order."""
    networks: dict[tuple[Stack, int], FeedForward] = {}
    counts = {"encoder": len(model.encoder.layers), "decoder": len(model.decoder.layers)}
    for stack in STACKS:
        for layer in range(counts[stack]):
            network = model.get_submodule(f"{stack}.layers.{layer}.feed_forward")
            assert isinstance(network, FeedForward)
            networks[stack, layer] = network
    return networks
