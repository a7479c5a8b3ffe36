"""Changes that arrive at receivers through direct paths.

A direct path leads from a sender's output through residual connections and norms alone: all other sub-layers write the
same as before. With x_s the input of sub-layer s, w_s its output in the recorded run, c_s the senders' changes,

    post-norm (the paper's)    x_(s+1) = LayerNorm(x_s + w_s + c_s)     sub-layer s reads x_s
    pre-norm                   x_(s+1) = x_s + w_s + c_s                sub-layer s reads LayerNorm(x_s)

Norms are computed again, not frozen: a change in a post-norm model passes one norm after each sub-layer, each divides
by the length that the change itself has altered, and the receiver reads the result. With scales frozen, changes would
add up exactly, but belong to a model that nobody runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.analysis.composition.edges import Input, Node, SubLayerPlace, norm_of, place_of, sublayers
from core.analysis.composition.replacement import Replacement
from core.analysis.interventions.continued_runs import block_of
from core.analysis.interventions.pair_runs import PairRuns, component_modules, component_place
from core.model import KeysValues, MultiHeadAttention, Transformer
from core.trace import KINDS, Stack, record

Changes = Mapping[int, Tensor]  # [W, L, D] added to what is written at a place; -1 is the embedding


@dataclass(frozen=True)
class ReceiverOutputs:
    """Outputs of one sub-layer when one of its inputs has changed."""

    place: SubLayerPlace | None  # the sub-layer; None is the output of the decoder
    input: Input
    # [W, H, L, d_v] of its heads, before W_O; a network's [W, 1, L, D]; the decoder's last state's metric [W, 1, 1, 1]
    outputs: Tensor
    recorded: Tensor  # [H, L, d_v] and so on, in the recorded run
    keys_values: KeysValues | None = None  # [1 or W, H, L, E] each, of heads; None for others


def receiver_outputs(run: Replacement, model: Transformer, side: Stack, changes: Changes) -> Iterator[ReceiverOutputs]:
    """Outputs of every sub-layer that reads one side's stream after the first of W changes, by the model's modules."""
    runs, steps = run.runs, sublayers(run.runs, side)
    first, norm_first = min(changes), model.config.norm == "pre"
    of_memory = [place for place in sublayers(runs, "decoder") if place.component == "cross"] * (side == "encoder")
    attentions = [place for place in steps[first + 1 :] if place.component in KINDS] + of_memory
    with record(model, [component_place(*place, "heads") for place in attentions]) as heads:
        x = runs.entered[side][:1]
        if -1 in changes:
            x = x + changes[-1]
        for index, place in enumerate(steps):
            block, norm = block_of(model, side, place.layer), norm_of(model, place)
            if index > first:
                yield from _outputs(runs, model, place, norm(x) if norm_first else x, heads)
            written = runs.outputs[place][:1] + changes.get(index, 0)
            x = block.residual(x, lambda _, written=written: written, norm, block.dropout)
        if side == "encoder":
            memory = model.encoder.output_norm(x)
            for place in of_memory:
                yield from _attention(runs, model, place, None, memory, heads)
            return
    metric = runs.measured(model.project(model.decoder.output_norm(x)[:, -1]).float())
    yield ReceiverOutputs(None, "input", metric[:, None, None, None], runs.measured(runs.logits[:1])[:, None, None])


def _outputs(
    runs: PairRuns, model: Transformer, place: SubLayerPlace, read: Tensor, heads: Mapping[str, Tensor]
) -> Iterator[ReceiverOutputs]:
    """Outputs of a sub-layer that reads other states [W, L, D]."""
    if place.component in KINDS:
        yield from _attention(runs, model, place, read, None if place.component == "cross" else read, heads)
    else:
        network = component_modules(model, place.component)[place.layer]
        yield ReceiverOutputs(place, "input", network(read)[:, None], runs.outputs[place][:1])


def _attention(
    runs: PairRuns,
    model: Transformer,
    place: SubLayerPlace,
    queries: Tensor | None,
    memory: Tensor | None,
    heads: Mapping[str, Tensor],
) -> Iterator[ReceiverOutputs]:
    """Outputs of heads whose queries, keys or values come from other states, one of these at a time.

    Queries or a memory of None do not change; `heads` are their outputs in the last pass of each layer, by place.
    """
    recorded, name = runs.of_heads(*place)[0].transpose(0, 1), component_place(*place, "heads")  # [H, L, d_v]
    read, own = recorded_inputs(runs, model, place)
    inputs: dict[Input, tuple[Tensor, KeysValues]] = {}
    if queries is not None:
        inputs["query"] = queries, own
    if memory is not None:
        keys, values = attention_of(model, place).keys_values(memory)
        inputs |= {"key": (read, (keys, own[1])), "value": (read, (own[0], values))}
    for which, (queried, keys_values) in inputs.items():
        attend(runs, model, place, queried, keys_values)
        yield ReceiverOutputs(place, which, heads[name], recorded, keys_values)


def attend(
    runs: PairRuns, model: Transformer, place: SubLayerPlace, queried: Tensor, keys_values: KeysValues
) -> Tensor:
    """Run an attention layer on other states [1 or W, L, D] of the queries, with other keys and values."""
    mask = next(mask for key, mask in runs.masks.items() if key == place)
    return attention_of(model, place)(queried, queried, mask, lambda _: keys_values)


def attention_of(model: Transformer, place: SubLayerPlace) -> MultiHeadAttention:
    """The module of an attention layer."""
    module = component_modules(model, place.component)[place.layer]
    assert isinstance(module, MultiHeadAttention)
    return module


def recorded_inputs(runs: PairRuns, model: Transformer, place: SubLayerPlace) -> tuple[Tensor, KeysValues]:
    """State [1, L, D] that the queries of an attention layer are computed from, and its keys and values."""
    component, layer = place
    side: Stack = "encoder" if component == "encoder_self" else "decoder"
    x = runs.entering(side, layer)[:1]
    block, norm, memory = block_of(model, side, layer), norm_of(model, place), None
    if component == "cross":
        x = block.residual(x, lambda _: runs.attended("decoder", layer)[:1], block.self_attention_norm, block.dropout)
        memory = runs.memory[:1]
    read = norm(x) if model.config.norm == "pre" else x
    return read, attention_of(model, place).keys_values(read if memory is None else memory)


def sender_changes(
    run: Replacement, model: Transformer, senders: Sequence[tuple[Node, int | None]], side: Stack
) -> Changes:
    """One scenario for each sender of a sub-layer, whose output is replaced at one position, or at all (None)."""
    place = place_of(senders[0][0])
    index = -1 if place is None else sublayers(run.runs, side).index(place)
    rows: list[Tensor] = []
    for sender, position in senders:
        change = run.change(model, sender)
        if position is not None:
            here = torch.arange(len(change), device=change.device) == position
            change = change * here[:, None]
        rows.append(change)
    return {index: torch.stack(rows)}
