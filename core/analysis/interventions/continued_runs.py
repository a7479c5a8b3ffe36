"""Recorded runs continued from a changed state, computing only what changes.

Exact, up to rounding, for three reasons:

- a decoder layer sends nothing to earlier positions (3.2.3), so those keep the keys and values of the recorded run;
- the next token is read at the last position, so the last decoder layer is computed there alone;
- a change in the decoder leaves the memory alone, one in the encoder the decoder's first self-attention.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from core.analysis.heads.head import head_matrices
from core.analysis.interventions.pair_runs import Component, PairRuns, Patch, component_modules, side_of
from core.model import DecoderLayer, EncoderLayer, KeysValues, MultiHeadAttention, Transformer
from core.trace import Stack

SubLayerFunction = Callable[[Tensor], Tensor]


class SharedMemory:
    """Keys and values of one memory for many rows: `LayerPositions` of a whole pass."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def self_attention(self, keys_values: Callable[[], KeysValues]) -> KeysValues:
        """Keys and values of a row's own positions."""
        return keys_values()

    def cross_attention(self, keys_values: Callable[[], KeysValues]) -> KeysValues:
        """Keys and values of the memory, [1 or W, H, S, E] -> [W, H, S, E]."""
        keys, values = keys_values()
        return keys.expand(self.rows, -1, -1, -1), values.expand(self.rows, -1, -1, -1)


def logits_after(
    runs: PairRuns, model: Transformer, base: int, side: Stack, layer: int, states: Tensor, start: int = 0
) -> Tensor:
    """Logits [W, V] of the next token if run 0 or 1 has other states after a layer.

    Layer -1 is the input of the first one. The states are [W, L - start, D] from position `start` on, 0 in the encoder.
    """
    x, memory, following = states, runs.memory[base : base + 1], layer + 1
    if side == "encoder":
        for index in range(following, len(model.encoder.layers)):
            x = model.encoder.layers[index](x, runs.masks["encoder_self", index])
        memory = model.encoder.output_norm(x)
        x, following = runs.entered["decoder"][base : base + 1], 0
    for index in range(following, len(model.decoder.layers)):
        is_unchanged = side == "encoder" and index == 0
        x = _decoder_layer(runs, model, base, index, x, memory, start, is_unchanged)
    return model.project(model.decoder.output_norm(x)[:, -1]).float()


def _decoder_layer(
    runs: PairRuns, model: Transformer, base: int, index: int, x: Tensor, memory: Tensor, start: int, is_unchanged: bool
) -> Tensor:
    """Output of a decoder layer, the last one at the last position only.

    [1 or W, T - start, D] -> [W, T - start or 1, D].
    """
    block, norm_first = block_of(model, "decoder", index), model.config.norm == "pre"
    assert isinstance(block, DecoderLayer)
    asking = x[:, -1:] if index == len(model.decoder.layers) - 1 else x

    def attended(states: Tensor) -> Tensor:
        return block.self_attention_norm(states) if norm_first else states

    def self_attention(queried: Tensor) -> Tensor:
        first, last = runs.fed.size(1) - queried.size(1), runs.fed.size(1)
        if is_unchanged:
            return runs.outputs["decoder_self", index][base : base + 1, first:last]
        own = queried if asking is x else attended(x)
        earlier = block.self_attention.keys_values(attended(runs.entering("decoder", index)[base : base + 1, :start]))

        def with_earlier(keys_values: Callable[[], KeysValues]) -> KeysValues:
            keys, values = (
                torch.cat((old.expand(len(new), -1, -1, -1), new), 2)
                for old, new in zip(earlier, keys_values(), strict=True)
            )
            return keys, values

        mask = runs.masks["decoder_self", index][:, :, first:last]
        return block.self_attention(queried, own, mask, with_earlier if start else None)

    x = block.residual(asking, self_attention, block.self_attention_norm, block.dropout)
    return after_self_attention(runs, block, x.expand(max(len(x), len(memory)), -1, -1), memory)


Change = Callable[[Component, SubLayerFunction], SubLayerFunction]  # returns another sub-layer in place of one


def after_self_attention(
    runs: PairRuns, block: DecoderLayer, x: Tensor, memory: Tensor, change: Change = lambda _, sublayer: sublayer
) -> Tensor:
    """Second half of a decoder layer: [W, L, D] after self-attention -> [W, L, D]."""

    def cross(queried: Tensor) -> Tensor:
        return block.cross_attention(
            queried, memory, runs.masks["cross", 0], SharedMemory(len(queried)).cross_attention
        )

    x = block.residual(x, change("cross", cross), block.cross_attention_norm, block.dropout)
    network = change("decoder_feed_forward", block.feed_forward)
    return block.residual(x, network, block.feed_forward_norm, block.dropout)


def changed_layer(
    runs: PairRuns, model: Transformer, base: int, side: Stack, layer: int, x: Tensor, attended: Tensor, change: Change
) -> Tensor:
    """States [W, L, D] after a layer of run 0 or 1 whose sub-layers are replaced by `change`, each position by itself.

    `attended` is the recorded output of self-attention at the same positions, which is not computed again.
    """
    own: Component = "encoder_self" if side == "encoder" else "decoder_self"
    block = block_of(model, side, layer)
    x = block.residual(x, change(own, lambda _: attended), block.self_attention_norm, block.dropout)
    if isinstance(block, DecoderLayer):
        return after_self_attention(runs, block, x, runs.memory[base : base + 1], change)
    network = change("encoder_feed_forward", block.feed_forward)
    return block.residual(x, network, block.feed_forward_norm, block.dropout)


def block_of(model: Transformer, side: Stack, layer: int) -> EncoderLayer | DecoderLayer:
    """A layer of the encoder or of the decoder."""
    block = (model.encoder if side == "encoder" else model.decoder).layers[layer]
    assert isinstance(block, EncoderLayer | DecoderLayer)
    return block


def logits_with_patches(runs: PairRuns, model: Transformer, base: int, patches: Sequence[Patch]) -> Tensor:
    """Logits [W, V] of the next token with one patch in each row, all in one layer, in the order of their positions."""
    side, layer = side_of(patches[0].component), patches[0].layer
    positions = torch.tensor([patch.position for patch in patches], device=runs.fed.device)
    changed = _states_with_patches(runs, model, base, patches, positions)
    start = int(positions[0]) if side == "decoder" else 0
    component: Component = "encoder_state" if side == "encoder" else "decoder_state"
    states = runs.outputs[component, layer][base, start:].repeat(len(patches), 1, 1)
    states[range(len(patches)), positions - start] = changed
    return logits_after(runs, model, base, side, layer, states, start)


def _states_with_patches(
    runs: PairRuns, model: Transformer, base: int, patches: Sequence[Patch], positions: Tensor
) -> Tensor:
    """State after the patched layer at the position of each patch: [W, D].

    Before the patch, the sub-layers of the layer are those of the base; after it, each acts on one position.
    """
    side, layer = side_of(patches[0].component), patches[0].layer

    def patched(component: Component, outputs: Tensor) -> Tensor:
        """Outputs [W, 1, D], taken from the donor where this component is patched."""
        rows = [row for row, patch in enumerate(patches) if patch.component == component]
        if not rows:
            return outputs
        outputs = outputs.clone()
        outputs[rows, 0] = torch.stack([patched_output(runs, model, base, patches[row]) for row in rows])
        return outputs

    def change(component: Component, sublayer: SubLayerFunction) -> SubLayerFunction:
        return lambda x: patched(component, sublayer(x))

    entering, attended = (
        each[base, positions][:, None] for each in (runs.entering(side, layer), runs.attended(side, layer))
    )
    x = changed_layer(runs, model, base, side, layer, entering, attended, change)
    return patched("encoder_state" if side == "encoder" else "decoder_state", x)[:, 0]


def patched_output(runs: PairRuns, model: Transformer, base: int, patch: Patch) -> Tensor:
    """Output of a component at the position of a patch: [D].

    A sub-layer is linear in its heads: W_O times the change of a head is added to the base.
    """
    outputs = runs.outputs[patch.component, patch.layer][:, patch.position]
    if patch.head is None:
        return outputs[1 - base]
    heads = runs.of_heads(patch.component, patch.layer)[:, patch.position, patch.head]
    return outputs[base] + head_matrix(model, patch.component, patch.layer, patch.head) @ (
        heads[1 - base] - heads[base]
    )


def head_matrix(model: Transformer, component: Component, layer: int, head: int) -> Tensor:
    """Columns of W_O that belong to a head: [D, d_v]."""
    module = component_modules(model, component)[layer]
    assert isinstance(module, MultiHeadAttention)
    return head_matrices(module)[:, head]
