"""Path patching of every edge between heads, networks, embeddings and a logit.

Wang et al. 2022 ("Interpretability in the Wild", arXiv:2211.00593) and Goldowsky-Dill et al. 2023 ("Localizing Model
Behavior with Path Patching", arXiv:2304.05969): the output of a sender is replaced, but only one input of one receiver
reads it, through the direct path of `direct_paths`. With h the receiver's output in the recorded run, h' its output
with that input changed, and m the metric,

    change = |h' - h| / |h|                        Frobenius norms over positions and dimensions
    effect = m(run) - m(run with h' in place of h)

where everything after the receiver is computed again. An effect above 0 speaks for A.

A pass for every edge would take minutes, so all are estimated first. `estimate` is exact up to h', softmax and norms
included, and linear after it:

    estimate = -<dm/dh, h' - h>

Attribution patching (Nanda 2023) and edge attribution patching (Syed et al. 2023, arXiv:2310.10348) are linear from the
receiver's input on, so their softmax is linear, too. The last edges, to the logit, have no approximation.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.analysis.composition.direct_paths import attend, receiver_outputs, recorded_inputs, sender_changes
from core.analysis.composition.edges import (
    EMBEDDINGS,
    Edge,
    Node,
    SubLayerPlace,
    nodes_of,
    place_of,
    sender_side,
    sublayers,
)
from core.analysis.composition.replacement import Replacement
from core.analysis.interventions.continued_runs import SubLayerFunction, changed_layer, head_matrix, logits_after
from core.analysis.interventions.pair_runs import Component, PairRuns, component_place, side_of
from core.analysis.interventions.patching import blocks
from core.analysis.interventions.path_patching import Receiver, path_effects
from core.analysis.relative_scores import relative_scores
from core.analysis.token_path.score_products import ScoreProducts, exact
from core.inference.cpu_products import onednn_products
from core.model import Transformer
from core.trace import KINDS, STACKS, Kind, Stack, record

Gradients = dict[SubLayerPlace, Tensor]
Request = tuple[Edge, int | None]  # an edge, and the position at which the sender's output is replaced; None for all


@dataclass(frozen=True)
class MeasuredEdge:
    """Effect of the change of a sender through one edge."""

    edge: Edge
    change: float  # of the receiver's output, relative to it; of the logit, of the metric
    estimate: float  # effect on the metric to first order, in nats; exact if the receiver is the logit


def estimated_edges(run: Replacement) -> Iterator[list[MeasuredEdge]]:
    """Estimate the effect of every edge, those out of one sub-layer at a time.

    Stop iterating to cancel the rest. The lock on the model is released between sub-layers.
    """
    gradients = output_gradients(run.runs)
    for side in STACKS:
        for senders in sender_groups(run.runs, side):
            yield _estimated(run, side, senders, gradients)


def sender_groups(runs: PairRuns, side: Stack) -> list[list[Node]]:
    """Senders of one side: the embedding, then those of each sub-layer."""
    return [[Node(EMBEDDINGS[side])], *(nodes_of(runs, place) for place in sublayers(runs, side))]


@torch.inference_mode()
def _estimated(run: Replacement, side: Stack, senders: list[Node], gradients: Gradients) -> list[MeasuredEdge]:
    edges: list[MeasuredEdge] = []
    with run.runs.translator.inspect() as model, onednn_products():
        changes = sender_changes(run, model, [(sender, None) for sender in senders], side)
        for each in receiver_outputs(run, model, side, changes):
            difference = each.outputs - each.recorded  # [W, H, L, E]
            sizes = difference.norm(dim=(-2, -1)) / each.recorded.norm(dim=(-2, -1)).clamp_min(1e-12)
            slopes = gradients[each.place] if each.place else torch.ones_like(each.recorded)
            effects = -(difference * slopes).sum((-2, -1))  # [W, H]
            receivers = [Node("logit")] if each.place is None else nodes_of(run.runs, each.place)
            rows = zip(senders, sizes.tolist(), effects.tolist(), strict=True)
            for sender, of_sizes, of_effects in rows:
                for receiver, change, effect in zip(receivers, of_sizes, of_effects, strict=True):
                    edges.append(MeasuredEdge(Edge(sender, receiver, each.input), change, effect))
    return edges


def output_gradients(runs: PairRuns) -> Gradients:
    """dm/dh of the heads [H, L, d_v] and networks [1, L, D] of every sub-layer, in the recorded run."""
    of_heads_or_network = {
        place: component_place(*place, "heads" if place.component in KINDS else "output")
        for stack in STACKS
        for place in sublayers(runs, stack)
    }
    with (
        torch.inference_mode(False),
        torch.enable_grad(),
        runs.translator.inspect() as model,
        onednn_products(),
        record(model, of_heads_or_network.values()) as values,
    ):
        logits = model(runs.source_ids[:1].clone(), runs.fed.clone())[:, -1].float()
        by_value = torch.autograd.grad(runs.measured(logits).sum(), list(values.values()), materialize_grads=True)
    gradients = dict(zip(values, by_value, strict=True))
    return {
        place: gradients[name][0] if place.component in KINDS else gradients[name]
        for place, name in of_heads_or_network.items()
    }


# --- Exact effects --------------------------------------------------------------------------------------------------


@torch.inference_mode()
def exact_effects(run: Replacement, requests: Sequence[Request]) -> Tensor:
    """Effects of edges on the metric, by path patching: [len(requests)] float64, in nats.

    Raises:
        ValueError: there is no such edge or position.
    """
    runs = run.runs
    arrived = changed_outputs(run, requests)
    effects = torch.zeros(len(requests), dtype=torch.float64)
    by_place: defaultdict[SubLayerPlace | None, list[int]] = defaultdict(list)
    for number, (edge, _) in enumerate(requests):
        by_place[place_of(edge.receiver)].append(number)
    for place, numbers in by_place.items():
        for block in blocks(runs, len(numbers)):
            outputs = [arrived[number] for number in numbers[block]]
            if place is None:
                metric = torch.stack(outputs).flatten()
            else:
                receivers = [requests[number][0].receiver for number in numbers[block]]
                with runs.translator.inspect() as model, onednn_products():
                    metric = runs.measured(_let_through(run, model, place, receivers, outputs))
            effects[numbers[block]] = run.metric - metric.double().cpu()
    return effects


@torch.inference_mode()
def changed_outputs(run: Replacement, requests: Sequence[Request]) -> list[Tensor]:
    """Output of the receiver of each edge when only the edge carries the change.

    [L, d_v] of a head, [L, D] of a network or [1, 1] of the logit.

    Raises:
        ValueError: as `exact_effects`.
    """
    outputs: dict[int, Tensor] = {}
    groups: defaultdict[tuple[Stack, SubLayerPlace | None], list[int]] = defaultdict(list)
    for number, (edge, position) in enumerate(requests):
        side = sender_side(edge.sender)
        length = run.runs.entered[side].size(1)
        if position is not None and not 0 <= position < length:
            raise ValueError(f"{edge.sender} has no position {position}: expected 0 to {length - 1}")
        groups[side, place_of(edge.sender)].append(number)
    for (side, _), numbers in groups.items():
        senders = list(dict.fromkeys((requests[number][0].sender, requests[number][1]) for number in numbers))
        wanted: defaultdict[tuple[SubLayerPlace | None, str], list[int]] = defaultdict(list)
        for number in numbers:
            edge = requests[number][0]
            wanted[place_of(edge.receiver), edge.input].append(number)
        with run.runs.translator.inspect() as model, onednn_products():
            for each in receiver_outputs(run, model, side, sender_changes(run, model, senders, side)):
                for number in wanted[each.place, each.input]:
                    edge, position = requests[number]
                    outputs[number] = each.outputs[senders.index((edge.sender, position)), edge.receiver.head or 0]
    for number, (edge, _) in enumerate(requests):
        if number not in outputs:
            raise ValueError(no_edge_message(edge))
    return [outputs[number] for number in range(len(requests))]


def _let_through(
    run: Replacement, model: Transformer, place: SubLayerPlace, receivers: Sequence[Node], outputs: Sequence[Tensor]
) -> Tensor:
    """Logits [W, V] when the receivers of one sub-layer have other outputs; everything after them is computed again."""
    runs, (component, layer) = run.runs, place
    side = side_of(component)
    if component in KINDS:
        heads = runs.of_heads(component, layer)[0]
        changes = [
            (output - heads[:, receiver.head or 0]) @ head_matrix(model, component, layer, receiver.head or 0).T
            for receiver, output in zip(receivers, outputs, strict=True)
        ]
        written = runs.outputs[place][:1] + torch.stack(changes)
    else:
        written = torch.stack(list(outputs))

    def change(each: Component, sublayer: SubLayerFunction) -> SubLayerFunction:
        return (lambda _: written) if each == component else sublayer

    entering, attended = (each[:1] for each in (runs.entering(side, layer), runs.attended(side, layer)))
    states = changed_layer(runs, model, 0, side, layer, entering, attended, change)
    return logits_after(runs, model, 0, side, layer, states)


@dataclass(frozen=True)
class EdgeFlow:
    """Inputs of a head, and the change that arrives through one edge."""

    queries: Tensor  # [2, Q, d_k] before and after the change
    keys: Tensor  # [2, K, d_k]
    scores: Tensor  # [2, Q, K] as the model has them, as `weights`; minus infinity where the mask hides a key
    weights: Tensor
    values: Tensor  # [K] length of the change of each value, relative to it; 0 unless the edge leads to the values
    relative: Tensor | None  # [Q, K] part of the scores that belongs to distances; None without relative positions

    def products(self, moment: int, query: int, key: int) -> ScoreProducts:
        """Products behind the score of two tokens: 0 before the change, 1 after."""
        score, row = self.scores[moment, query, key], self.weights[moment, query]
        vectors = exact(self.queries[moment, query]), exact(self.keys[moment, key])
        relative = None if self.relative is None else float(self.relative[query, key])
        return ScoreProducts(*vectors, float(score), float(row[key]), relative)


@torch.inference_mode()
def edge_flow(run: Replacement, edge: Edge) -> EdgeFlow:
    """Attention of the receiver of an edge before and after the change.

    Raises:
        ValueError: the receiver is not a head, or there is no such edge.
    """
    place, head, side = place_of(edge.receiver), edge.receiver.head, sender_side(edge.sender)
    if place is None or head is None:
        raise ValueError(f"{edge.receiver} has no attention weights: give an edge to a head")
    names = [component_place(*place, each) for each in ("queries", "scores", "weights")]
    with run.runs.translator.inspect() as model, record(model, names) as values:
        changes = sender_changes(run, model, [(edge.sender, None)], side)
        for each in receiver_outputs(run, model, side, changes):  # after each of which its pass is the last one
            if (each.place, each.input) == (place, edge.input) and each.keys_values:
                after = [values[name][0, head] for name in names]
                break
        else:
            raise ValueError(no_edge_message(edge))
        queried, own = recorded_inputs(run.runs, model, place)
        attend(run.runs, model, place, queried, own)
        before = [values[name][0, head] for name in names]
        kind: Kind = next(kind for kind in KINDS if kind == place.component)
        relative = relative_scores(model, kind, place.layer, own[0].size(2))
    queries, scores, weights = (torch.stack(both) for both in zip(before, after, strict=True))
    (keys, value), (own_keys, own_value) = ([both[0, head] for both in moment] for moment in (each.keys_values, own))
    change = (value - own_value).norm(dim=-1) / own_value.norm(dim=-1).clamp_min(1e-12)
    keys, relative = torch.stack((own_keys, keys)), None if relative is None else relative[head]
    return EdgeFlow(queries, keys, scores, weights, change, relative)


def no_edge_message(edge: Edge) -> str:
    """Error message for an edge that does not exist."""
    return f"there is no edge {edge}: a direct path leads to what reads the sender's output later"


def repeated_with_hooks(run: Replacement, edge: Edge) -> float:
    """Effect of an edge between two heads, computed independently by passes of the model's own modules with hooks.

    Raises:
        ValueError: one of its ends is not a head.
    """
    sender, receiver = edge.sender.as_head, edge.receiver.as_head
    if sender is None or receiver is None or edge.input == "input":
        raise ValueError(f"{edge} is not an edge between two heads")
    effects = path_effects(run.runs, [sender], [Receiver(receiver, edge.input)], "clean", hold_networks=True)
    return run.metric - float(effects.values)


def strongest(edges: Sequence[MeasuredEdge], count: int) -> list[MeasuredEdge]:
    """Edges with the largest absolute estimates, largest first."""
    return sorted(edges, key=lambda each: -abs(each.estimate))[:count]
