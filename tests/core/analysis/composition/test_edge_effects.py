"""Edges by path patching, against whole passes with hooks, finite differences and a linear model."""

import copy
import random
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import torch

from core.analysis.composition.direct_paths import ReceiverOutputs, receiver_outputs, sender_changes
from core.analysis.composition.edge_effects import (
    changed_outputs,
    edge_flow,
    estimated_edges,
    exact_effects,
    repeated_with_hooks,
    sender_groups,
)
from core.analysis.composition.edges import INPUTS, Edge, Node, nodes_of, place_of, sublayers
from core.analysis.composition.replacement import ReplacedBy, Replacement, record_replacement
from core.analysis.interventions.pair_runs import PairRuns
from core.text.tokenizer import SentencePieceTokenizer
from core.trace import KINDS, STACKS
from core.translator import Translator
from tests.core.analysis.conftest import PRE_NORM, TARGET, random_translator
from tests.core.analysis.interventions import conftest
from tests.core.tiny_models import LIKE_T5, LIKE_UMT5
from tests.margins import assert_equal_to_rounding, depth

EDGES = [
    Edge(Node("source"), Node("encoder_self", 0, 1), "key"),
    Edge(Node("source"), Node("encoder_feed_forward", 1), "input"),
    Edge(Node("encoder_self", 0, 2), Node("encoder_self", 1, 0), "query"),
    Edge(Node("encoder_self", 0, 2), Node("encoder_feed_forward", 0), "input"),
    Edge(Node("encoder_feed_forward", 1), Node("cross", 0, 3), "key"),
    Edge(Node("encoder_self", 0, 0), Node("cross", 2, 1), "value"),
    Edge(Node("target"), Node("decoder_self", 1, 2), "value"),
    Edge(Node("decoder_self", 1, 1), Node("cross", 1, 2), "query"),
    Edge(Node("cross", 0, 3), Node("decoder_self", 2, 0), "key"),
    Edge(Node("cross", 1, 0), Node("decoder_feed_forward", 1), "input"),
    Edge(Node("decoder_feed_forward", 0), Node("cross", 2, 0), "query"),
    Edge(Node("cross", 2, 1), Node("logit"), "input"),
    Edge(Node("target"), Node("logit"), "input"),
]


def recorded(of: Translator, by: ReplacedBy = "mean", **options: Any) -> Replacement:
    second = conftest.CORRUPTED if by == "sentence" else None
    return record_replacement(
        of, conftest.CLEAN, TARGET, options.pop("position", conftest.POSITION), by, second, **options
    )


@pytest.fixture(scope="module")
def run(translator: Translator) -> Replacement:
    return recorded(translator)


VARIANTS: list[tuple[dict[str, Any], ReplacedBy]] = [
    ({}, "sentence"),
    (PRE_NORM, "zero"),
    (LIKE_UMT5, "mean"),
    ({"neighbourhood": 3, "tied": "none", "embedding_norm": True}, "mean"),
]


@pytest.mark.parametrize(("changes", "by"), VARIANTS)
def test_an_edge_is_that_of_two_whole_passes(
    tokenizer: SentencePieceTokenizer, changes: dict[str, Any], by: ReplacedBy
):
    run = recorded(random_translator(tokenizer, **changes), by)
    requests = [(edge, position) for edge in EDGES for position in (None, 4)]
    found = exact_effects(run, requests).tolist()
    expected = conftest.in_two_passes(run.runs, [(*request, True) for request in requests])
    for request, effect, metric in zip(requests, found, expected, strict=True):
        assert effect == pytest.approx(run.metric - metric, abs=2e-4), request
    assert sum(abs(effect) > 1e-3 for effect in found) > len(found) / 3
    for edge in EDGES:
        if edge.sender.as_head and edge.receiver.as_head:
            assert repeated_with_hooks(run, edge) == pytest.approx(found[requests.index((edge, None))], abs=2e-4)


def possible_edges(runs: PairRuns) -> set[Edge]:
    """A sender reaches all that its own side computes later, and one in the encoder also keys and values across."""
    edges = set[Edge]()
    for side in STACKS:
        for index, senders in enumerate(sender_groups(runs, side)):
            steps = sublayers(runs, side)[index:]
            later = [(place, ("query",) if place.component == "cross" else INPUTS[:3]) for place in steps]
            if side == "encoder":
                across = [place for place in sublayers(runs, "decoder") if place.component == "cross"]
                later += [(place, ("key", "value")) for place in across]
            for place, inputs in later:
                read = inputs if place.component in KINDS else ("input",)
                edges |= {Edge(*ends, which) for ends in product(senders, nodes_of(runs, place)) for which in read}
            if side == "decoder":
                edges |= {Edge(sender, Node("logit"), "input") for sender in senders}
    return edges


@pytest.mark.parametrize("changes", [{}, LIKE_T5])
def test_an_edge_exists_where_a_change_arrives(tokenizer: SentencePieceTokenizer, changes: dict[str, Any]):
    """No later layer feeds an earlier one, and no decoder the encoder."""
    run = recorded(random_translator(tokenizer, **changes), "zero")
    own, edges = conftest.values_of(run.runs, 0), possible_edges(run.runs)
    senders = [Node("encoder_self", 0, 1), Node("encoder_feed_forward", 0), Node("cross", 1, 2), Node("target")]
    logit = Node("logit")  # any receiver: what arrives there is not looked at
    computed, _ = conftest.sending_pass(run.runs, [(Edge(sender, logit, "input"), None, True) for sender in senders])
    for row, sender in enumerate(senders):
        expected = {
            conftest.path_of(edge.receiver)
            + (f".{conftest.PROJECTIONS[edge.input]}" if edge.receiver.head is not None else "")
            for edge in edges
            if edge.sender == sender and edge.receiver.part != "logit"
        }
        read = {path for path in own if path.endswith((*conftest.PROJECTIONS.values(), "feed_forward"))}
        sends = "" if sender.layer is None else conftest.path_of(sender)
        arrived = {path for path in read - {sends} if not torch.allclose(own[path][0], computed[path][row], atol=1e-4)}
        assert arrived == expected
    estimated = [each.edge for part in estimated_edges(run) for each in part]
    assert set(estimated) == edges
    assert len(estimated) == len(edges)


def test_edges_that_do_not_exist_are_refused(run: Replacement):
    for edge in (
        Edge(Node("cross", 1, 0), Node("decoder_self", 1, 0), "key"),
        Edge(Node("encoder_self", 0, 0), Node("cross", 0, 0), "query"),
        Edge(Node("target"), Node("encoder_self", 0, 0), "key"),
    ):
        with pytest.raises(ValueError, match=f"there is no edge {edge}: a direct path leads to what reads"):
            exact_effects(run, [(edge, None)])
    with pytest.raises(ValueError, match="target has no position 9: expected 0 to 5"):
        exact_effects(run, [(EDGES[-1], 9)])
    with pytest.raises(ValueError, match="logit has no attention weights: give an edge to a head"):
        edge_flow(run, EDGES[-1])


def of_all(run: Replacement, side: Any) -> list[ReceiverOutputs]:
    """Inputs of all receivers when all senders of a side are replaced at once."""
    changes: dict[int, torch.Tensor] = {}
    with torch.inference_mode(), run.runs.translator.inspect() as model:
        for group in sender_groups(run.runs, side):
            of_group = sender_changes(run, model, [(sender, None) for sender in group], side)
            changes |= {index: rows.sum(0, keepdim=True) for index, rows in of_group.items()}
        return list(receiver_outputs(run, model, side, changes))


@pytest.mark.parametrize("changes", [{}, PRE_NORM, LIKE_T5])
def test_all_senders_at_once_are_the_donor(tokenizer: SentencePieceTokenizer, changes: dict[str, Any]):
    run = recorded(random_translator(tokenizer, **changes), "sentence")
    networks = [each for side in ("encoder", "decoder") for each in of_all(run, side) if each.input == "input"]
    assert len(networks) == 2 + 3 + 1
    for each in networks:
        donor = run.runs.outputs[each.place][1] if each.place else torch.tensor([[run.runs.corrupted]])
        assert torch.allclose(each.outputs[0, 0], donor, atol=1e-3)


def test_in_a_linear_model_edges_add_up(translator: Translator):
    """And the effect of one between every two sub-layers is its estimate."""
    run = recorded(conftest.linear(translator), "zero")
    edges = [edge for edge in sorted(possible_edges(run.runs), key=str) if edge.input in ("value", "input")]
    mixed = random.Random(0).sample(edges, len(edges))  # so that all heads are among those between two sub-layers
    some = list({(place_of(edge.sender), place_of(edge.receiver)): edge for edge in mixed}.values())
    effects = exact_effects(run, [(edge, None) for edge in some]).tolist()
    estimates = {each.edge: each.estimate for part in estimated_edges(run) for each in part}
    assert [estimates[edge] for edge in some] == pytest.approx(effects, abs=1e-4)
    joint = {(each.place, each.input): each for side in ("encoder", "decoder") for each in of_all(run, side)}
    for receiver in (Node("encoder_self", 1, 2), Node("cross", 2, 1), Node("decoder_feed_forward", 1), Node("logit")):
        into = [edge for edge in edges if edge.receiver == receiver]
        whole = joint[place_of(receiver), into[0].input]
        head = receiver.head or 0
        parts = torch.stack(changed_outputs(run, [(edge, None) for edge in into])) - whole.recorded[head]
        added = whole.outputs[0, head] - whole.recorded[head]
        assert_equal_to_rounding(parts.sum(0), added, len(parts) * depth(translator.model))
        assert parts.abs().max() > 1e-3


@pytest.mark.parametrize("changes", [{}, LIKE_T5])
def test_estimates_are_derivatives(tokenizer: SentencePieceTokenizer, changes: dict[str, Any]):
    """Central differences of effects and of estimates, for small steps from the recorded run to the replacement, in
    float64: in float32 they drown in rounding, or are too large for strongly curved models.
    """
    model = random_translator(tokenizer, **{**changes, "activation": "swish"}).model.double()
    whole = recorded(Translator(model, tokenizer), "sentence")

    def stepped(size: float) -> Replacement:
        def step(values: torch.Tensor) -> torch.Tensor:
            return torch.stack((values[0], values[0] + size * (values[1] - values[0])))

        runs = whole.runs
        kept: dict[str, Any] = {name: getattr(runs, name) for name in ("outputs", "heads", "entered")}
        changed = {name: {key: step(values) for key, values in found.items()} for name, found in kept.items()}
        return replace(whole, runs=replace(runs, **changed))

    both = [stepped(size) for size in (1e-3, -1e-3)]
    forth, back = ({each.edge: each.estimate for part in estimated_edges(run) for each in part} for run in both)
    best = sorted((edge for edge in forth if edge.receiver.layer is not None), key=lambda edge: -abs(forth[edge]))[:12]
    exact = [exact_effects(run, [(edge, None) for edge in best]) for run in both]
    expected = [(forth[edge] - back[edge]) / 2 for edge in best]
    assert ((exact[0] - exact[1]) / 2).tolist() == pytest.approx(expected, rel=0.01)


def test_changes_are_relative_to_the_output_and_estimates_follow_effects(run: Replacement):
    edges = {each.edge: each for part in estimated_edges(run) for each in part}
    for edge, output in zip(EDGES, changed_outputs(run, [(edge, None) for edge in EDGES]), strict=True):
        place = place_of(edge.receiver)
        if place is None:
            own = run.runs.measured(run.runs.logits[:1])[None]
        elif place[0] in KINDS:
            own = run.runs.of_heads(*place)[0, :, edge.receiver.head]
        else:
            own = run.runs.outputs[place][0]
        assert edges[edge].change == pytest.approx(float((output - own).norm() / own.norm()), rel=1e-3, abs=1e-6)
    last = EDGES[-1]
    assert edges[last].estimate == pytest.approx(float(exact_effects(run, [(last, None)])), abs=1e-5)


def test_the_weights_of_an_edge_are_those_of_a_pass(run: Replacement):
    own, edges = conftest.values_of(run.runs, 0), [edge for edge in EDGES if edge.receiver.head is not None]
    computed, _ = conftest.sending_pass(run.runs, [(edge, None, True) for edge in edges])
    for row, edge in enumerate(edges):
        flow, receives, head = edge_flow(run, edge), conftest.path_of(edge.receiver), edge.receiver.head
        count = run.runs.num_heads(edge.receiver.as_head.kind)  # type: ignore[union-attr]
        read = {name: own[f"{receives}.{path}"][0] for name, path in conftest.PROJECTIONS.items()}
        sent = {**read, edge.input: computed[f"{receives}.{conftest.PROJECTIONS[edge.input]}"][row]}
        for weights, of_pass in zip(flow.weights, (read, sent), strict=True):
            q, k = (of_pass[name].unflatten(-1, (count, -1))[:, head] for name in ("query", "key"))
            scores = q @ k.T / k.size(-1) ** 0.5
            if edge.receiver.part == "decoder_self":
                scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)
            assert torch.allclose(weights, scores.softmax(-1), atol=1e-5)
        assert (flow.values.max() > 1e-3) == (edge.input == "value")
        for moment in (0, 1):
            found = flow.products(moment, 2, 1)
            assert found.gap < 1e-5
            assert found.weight == pytest.approx(float(flow.weights[moment, 2, 1]))


def test_constant_replacements(translator: Translator, run: Replacement):
    heads = run.runs.of_heads("cross", 1)
    assert torch.allclose(heads[1], heads[0].mean(0).expand_as(heads[0]), atol=1e-6)
    assert not recorded(translator, "zero").runs.outputs["encoder_feed_forward", 0][1].any()
    first = recorded(translator, position=0)  # one position is its own mean
    assert exact_effects(first, [(EDGES[-1], None)]).item() == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "sentence"}, "replaced by 'sentence' and the second sentence is None: give one with 'sentence'"),
        (
            {"by": "zero", "second": conftest.CORRUPTED},
            "replaced by 'zero' and the second sentence is 'The old train is cold.'",
        ),
        ({"by": "sentence", "second": "The old sea is cold."}, "patching needs equally many"),
        ({"position": 99}, "position 99 is not one of the"),
        ({"token": 7, "against": 7}, "give another one to compare with"),
    ],
)
def test_runs_that_cannot_be_replaced_are_refused(translator: Translator, options: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        record_replacement(translator, conftest.CLEAN, TARGET, options.pop("position", conftest.POSITION), **options)


def test_the_model_is_left_as_it_was(run: Replacement):
    model = run.runs.translator.model
    before = copy.deepcopy(model.state_dict())
    with run.runs.translator.inspect() as held:
        sender_changes(run, held, [(EDGES[0].sender, None)], "encoder")
    list(estimated_edges(run))
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
