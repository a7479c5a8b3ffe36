"""Path patching: the effect of one head on another through direct paths.

Wang et al. 2022 ("Interpretability in the Wild", arXiv:2211.00593) and Goldowsky-Dill et al. 2023 ("Localizing Model
Behavior with Path Patching", arXiv:2304.05969). In the base run,

1. the sender's output is replaced by the donor's, while all other attention outputs stay those of the base. This
   changes the residual connections, norms and feed-forward networks up to the receivers, and so their queries, keys or
   values;
2. in another pass over the base, the receivers get these queries, keys or values, and everything after them is computed
   again. The metric of this pass is normalised as in activation patching.

Wang et al. let feed-forward networks change on the way; with `hold_networks` they stay those of the base, too, so that
only residual connections and norms carry the change. In a post-norm layer the norms act on the residual connection
itself: they are computed again, with the scale that the change gives them.

Direct paths lead from a head of the encoder to higher heads of the encoder, and through the memory to the keys and
values of cross-attention; from a head of the decoder to the queries, keys and values of higher self-attention, and to
the queries of cross-attention after it. Others do not exist, and are refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from core.analysis.heads.head import attention_layers, head_matrices
from core.analysis.interventions.continued_runs import SharedMemory
from core.analysis.interventions.pair_runs import (
    Component,
    PairRuns,
    Patch,
    component_modules,
    component_place,
    side_of,
)
from core.analysis.interventions.patching import Effects, Into, blocks, logits_from
from core.inference.cpu_products import onednn_products
from core.model import MultiHeadAttention, Transformer
from core.trace import KINDS, Edit, Head, Stack, edit, record

HeadInput = Literal["query", "key", "value"]
INPUTS: tuple[HeadInput, ...] = ("query", "key", "value")
_PROJECTIONS: dict[HeadInput, str] = {"query": "q_proj", "key": "k_proj", "value": "v_proj"}
_NETWORKS: tuple[Component, ...] = ("encoder_feed_forward", "decoder_feed_forward")
_VALUES: dict[HeadInput, str] = {"query": "queries", "key": "keys", "value": "values"}


@dataclass(frozen=True)
class Receiver:
    """The queries, keys or values of a head."""

    head: Head
    input: HeadInput

    def __str__(self) -> str:
        """Display name, counted from 1: `cross L5 H3 value`."""
        return f"{self.head} {self.input}"

    @property
    def place(self) -> str:
        """Name of these vectors, see `core.trace`."""
        return self.head.place(_VALUES[self.input])


def unreachable(sender: Head, receiver: Receiver) -> str:
    """Reason why no direct path leads from a head to a receiver, or ""."""
    head = receiver.head
    if sender.kind == "encoder_self" and head.kind == "cross":
        if receiver.input == "query":
            return (
                "its queries come from the decoder, where heads of the encoder act only through other cross-attention"
            )
        return ""
    if sender.kind == "encoder_self" and head.kind == "decoder_self":
        return "the encoder reaches the decoder only through cross-attention"
    if head.kind == "encoder_self" and sender.kind != "encoder_self":
        return "the encoder does not read the decoder"
    if head.kind == "cross" and receiver.input != "query":
        return "keys and values of cross-attention come from the encoder"
    order = {"encoder_self": 0, "decoder_self": 0, "cross": 1}
    if (sender.layer, order[sender.kind]) >= (head.layer, order[head.kind]):
        return "it does not come after the sender"
    return ""


def possible_senders(model: Transformer, receiver: Receiver) -> list[Head]:
    """All heads with a direct path to a receiver, by kind, then by layer."""
    return [
        head
        for (kind, layer), module in attention_layers(model).items()
        for head in (Head(kind, layer, number) for number in range(module.num_heads))
        if not unreachable(head, receiver)
    ]


@torch.inference_mode()
def path_effects(
    runs: PairRuns,
    senders: Sequence[Head],
    receivers: Sequence[Receiver],
    into: Into = "corrupted",
    positions: Sequence[int | None] = (None,),
    hold_networks: bool = False,
) -> Effects:
    """Effects of heads through the direct paths to receivers, which change together: [senders, positions].

    Positions are those of the sender's output, each patched alone; None for all at once. With `hold_networks`,
    feed-forward networks stay those of the base on the way.

    Raises:
        ValueError: there is no such head or position, or no direct path from a sender to a receiver.
    """
    base = 1 if into == "corrupted" else 0
    for patch in (Patch(receiver.head.kind, receiver.head.layer, None, receiver.head.head) for receiver in receivers):
        runs.check(patch)
    rows: list[Patch] = []
    for sender in senders:
        for receiver in receivers:
            if reason := unreachable(sender, receiver):
                raise ValueError(f"no direct path leads from {sender} to {receiver}: {reason}")
        rows += [Patch(sender.kind, sender.layer, position, sender.head) for position in positions]
    for patch in rows:
        runs.check(patch)
    metrics = torch.full((len(rows),), (runs.clean, runs.corrupted)[base], dtype=torch.float64)
    changed = [number for number, row in enumerate(rows) if runs.differs(row)]
    for block in blocks(runs, len(changed)):
        numbers = changed[block]
        with runs.translator.inspect() as model, onednn_products():
            arriving = _arriving(runs, model, [rows[number] for number in numbers], receivers, base, hold_networks)
            metrics[numbers] = runs.measured(_received(runs, model, arriving, base)).double().cpu()
    return Effects(runs.clean, runs.corrupted, metrics.view(len(senders), len(positions)))


def _arriving(
    runs: PairRuns,
    model: Transformer,
    rows: Sequence[Patch],
    receivers: Sequence[Receiver],
    base: int,
    hold_networks: bool,
) -> dict[Receiver, Tensor]:
    """Inputs [W, L, E] (queries, keys or values) of the receivers if only the output of each row's sender changed."""
    side, first = side_of(rows[0].component), min(row.layer for row in rows)
    x = runs.entering(side, first)[base].expand(len(rows), -1, -1)
    held = {
        component_place(component, layer): _held_output(runs, module, component, layer, rows, base)
        for component in (*KINDS, *_NETWORKS * hold_networks)
        if side_of(component) == side
        for layer, module in enumerate(component_modules(model, component))
    }
    functions: dict[str, Edit] = {place: lambda _, output=output: output for place, output in held.items()}
    with edit(model, functions), record(model, [receiver.place for receiver in receivers]) as values:
        if side == "encoder":
            for layer in range(first, len(model.encoder.layers)):
                x = model.encoder.layers[layer](x, runs.masks["encoder_self", layer])
            memory = model.encoder.output_norm(x)
            for receiver in receivers:
                if receiver.head.kind == "cross":
                    _projection(model, receiver)(memory)
        else:
            last = max(receiver.head.layer for receiver in receivers)
            for layer in range(first, last + 1):
                masks = runs.masks["decoder_self", layer], runs.masks["cross", layer]
                x = model.decoder.layers[layer](x, runs.memory[base : base + 1], *masks, SharedMemory(len(rows)))
    return {receiver: values[receiver.place] for receiver in receivers}


def _held_output(
    runs: PairRuns, module: nn.Module, component: Component, layer: int, rows: Sequence[Patch], base: int
) -> Tensor:
    """Output [W, L, D] of the base with the donor's output of this layer's senders.

    A sub-layer is linear in its heads: W_O times the change of a head is added.
    """
    held = runs.outputs[component, layer][base].repeat(len(rows), 1, 1)
    senders = [(number, row) for number, row in enumerate(rows) if (row.component, row.layer) == (component, layer)]
    if senders and isinstance(module, MultiHeadAttention):
        heads = runs.of_heads(component, layer)
        change = heads[1 - base] - heads[base]  # [L, H, d_v]
        matrices = head_matrices(module)
        for number, row in senders:
            positions = slice(None) if row.position is None else slice(row.position, row.position + 1)
            held[number, positions] += change[positions, row.head] @ matrices[:, row.head].T
    return held


def _received(runs: PairRuns, model: Transformer, arriving: dict[Receiver, Tensor], base: int) -> Tensor:
    """Logits [W, V] of the base whose receivers have these queries, keys or values."""
    first: dict[Stack, int] = {}
    for receiver in arriving:
        side, layer = side_of(receiver.head.kind), receiver.head.layer
        first[side] = min(first.get(side, layer), layer)
    functions: dict[str, Edit] = {
        receiver.place: lambda _, values=values: values for receiver, values in arriving.items()
    }
    with edit(model, functions):
        return logits_from(runs, model, base, len(next(iter(arriving.values()))), first)


def _projection(model: Transformer, receiver: Receiver) -> nn.Linear:
    """Projection to the queries, keys or values of all heads of the receiver's layer."""
    module = component_modules(model, receiver.head.kind)[receiver.head.layer]
    projection = module.get_submodule(_PROJECTIONS[receiver.input])
    assert isinstance(projection, nn.Linear)
    return projection
