"""The graph of direct paths, its files, and the clicks on it."""

import json
from pathlib import Path

import pytest

from core.analysis.composition.edge_effects import edge_flow
from core.analysis.composition.edges import Edge, Node, possible_edges
from core.analysis.composition.replacement import Replacement, record_replacement
from core.analysis.composition.survey import Survey, survey
from core.translator import Translator
from viz_app.drawing.theme import DARK, LIGHT
from viz_app.views.experiments.head_paths import figures
from viz_app.views.experiments.head_paths.path_graph import clicked_place, graph_payload


@pytest.fixture(scope="module")
def run(tiny_checkpoint: Path) -> Replacement:
    return record_replacement(Translator.from_checkpoint(tiny_checkpoint), "The old house.", "Das alte Haus", 2)


@pytest.fixture(scope="module")
def found(run: Replacement) -> Survey:
    return survey(run, 40)


def test_later_sublayers_are_higher_and_no_two_nodes_meet(run: Replacement, found: Survey) -> None:
    graph = figures.path_graph(run.runs, found, 30, LIGHT)
    places = {node.node: node.at for node in graph.nodes}
    assert len(set(places.values())) == len(places)
    nodes = {end for edge in possible_edges(run.runs) for end in edge[:2]}
    assert set(places) == nodes
    for edge in possible_edges(run.runs):
        sender, receiver = places[edge.sender], places[edge.receiver]
        is_cross = edge.receiver.part == "cross" and edge.input != "query"
        assert receiver.x > sender.x if is_cross else receiver.y < sender.y
    for at in places.values():
        assert figures.RADIUS <= at.x <= graph.width - figures.RADIUS
        assert figures.RADIUS <= at.y <= graph.height - figures.RADIUS


def test_on_a_narrow_screen_the_encoder_is_below_the_decoder(run: Replacement, found: Survey) -> None:
    wide = figures.path_graph(run.runs, found, 30, LIGHT)
    graph = figures.path_graph(run.runs, found, 30, LIGHT, is_narrow=True)
    assert [node.name for node in graph.nodes] == [node.name for node in wide.nodes]
    assert [edge.name for edge in graph.edges] == [edge.name for edge in wide.edges]
    places = {node.node: node.at for node in graph.nodes}
    assert len(set(places.values())) == len(places)
    assert all(places[edge.receiver].y < places[edge.sender].y for edge in possible_edges(run.runs))
    assert graph.width < wide.width - figures.GAP
    points = [*places.values(), *(point for edge in graph.edges for point in edge.curve[::3])]
    assert all(0 <= at.x <= graph.width and 0 <= at.y <= graph.height for at in points)


def test_the_strongest_edges_are_drawn_thickest_last(run: Replacement, found: Survey) -> None:
    first = found.ranked()[0].edge
    graph = figures.path_graph(run.runs, found, 12, DARK, first, first.sender)
    assert [edge.edge for edge in graph.edges] == [each.edge for each in reversed(found.ranked()[:12])]
    shares = [edge.share for edge in graph.edges]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert [edge.edge for edge in graph.edges if edge.selected] == [first]
    assert [node.node for node in graph.nodes if node.selected] == [first.sender]
    for edge in graph.edges:
        assert (edge.color == DARK.diverging[-1]) == (found.effects[edge.edge] > 0)
        assert edge.letter == {"query": "Q", "key": "K", "value": "V", "input": ""}[edge.edge.input]
    used = {end for edge in graph.edges for end in edge.edge[:2]}
    assert {node.node for node in graph.nodes if node.used} == used
    unmeasured = figures.path_graph(run.runs, Survey(found.edges), 5, LIGHT)
    assert all(edge.name.endswith(", estimated") for edge in unmeasured.edges)
    assert not figures.path_graph(run.runs, Survey(), 5, LIGHT).edges


def test_clicks_name_nodes_and_edges(run: Replacement, found: Survey) -> None:
    graph = figures.path_graph(run.runs, found, 12, LIGHT)
    payload = json.loads(json.dumps(graph_payload(graph, LIGHT)))
    assert (len(payload["nodes"]), len(payload["edges"])) == (len(graph.nodes), 12)
    assert clicked_place({"node": 0}, graph) == graph.nodes[0].node
    assert clicked_place({"edge": 11}, graph) == graph.edges[11].edge
    for value in (None, "node", {"edge": 12}, {"node": -1}, {"node": "0"}):
        assert clicked_place(value, graph) is None


def test_names_and_tables(run: Replacement, found: Survey) -> None:
    names = {
        Node("encoder_feed_forward", 1): "Encoder L2 network",
        Node("cross", 0, 1): "Cross L1 H2",
        Node("source"): "Source embedding",
        Node("logit"): "Logit",
    }
    assert {node: figures.node_title(node) for node in names} == names
    edge = Edge(Node("encoder_self", 0, 0), Node("cross", 1, 0), "key")
    assert figures.edge_title(edge) == "Encoder L1 H1 → Cross L2 H1, key"
    assert len(found.table()["effect"]) == len(found.effects) == 40
    table = figures.readable_table(found, 10)
    assert table["effect"].abs().is_monotonic_decreasing
    flow = edge_flow(run, Edge(Node("source"), Node("cross", 1, 0), "value"))
    tokens = run.runs.source_tokens[0]
    assert len(figures.values_grid(flow, tokens).rows[0][1]) == len(tokens)
    assert len(figures.positions_grid([0.5] * len(tokens), tokens).rows[0][1]) == len(tokens)
