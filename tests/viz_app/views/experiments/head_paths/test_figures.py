"""The graph of direct paths, and the clicks on it."""

import json
from pathlib import Path

import pytest

from core.analysis.composition.edges import Node, sender_side
from core.analysis.composition.replacement import Replacement, record_replacement
from core.analysis.composition.survey import Survey, survey
from core.translator import Translator
from viz_app.drawing.theme import DARK, LIGHT
from viz_app.views.experiments.head_paths.figures import GAP, RADIUS, PathGraph, Point, path_graph
from viz_app.views.experiments.head_paths.path_graph import clicked_place


@pytest.fixture(scope="module")
def run(tiny_checkpoint: Path) -> Replacement:
    return record_replacement(Translator.from_checkpoint(tiny_checkpoint), "The old house.", "Das alte Haus", 2)


@pytest.fixture(scope="module")
def found(run: Replacement) -> Survey:
    return survey(run, 40)


def places_of(graph: PathGraph) -> dict[Node, Point]:
    """Places of the nodes, no two of which meet."""
    places = [Point(*node["at"]) for node in graph.data["nodes"]]
    assert len(set(places)) == len(graph.nodes)
    return dict(zip(graph.nodes, places, strict=True))


def test_later_sublayers_are_higher(run: Replacement, found: Survey) -> None:
    graph = path_graph(run.runs, found, 30, LIGHT)
    places, (width, height) = places_of(graph), graph.data["size"]
    used = {end for edge in graph.edges for end in edge[:2]}
    ends = {end for each in found.edges for end in each.edge[:2]}
    assert used | {end for end in ends if sender_side(end) == "decoder"} <= set(places) <= ends
    rows = {end[:2] for end in used}
    assert all(node[:2] in rows for node in places if sender_side(node) == "encoder")
    for edge in graph.edges:
        sender, receiver = places[edge.sender], places[edge.receiver]
        is_cross = edge.receiver.part == "cross" and edge.input != "query"
        assert receiver.x > sender.x if is_cross else receiver.y < sender.y
    for at in places.values():
        assert RADIUS <= at.x <= width - RADIUS
        assert RADIUS <= at.y <= height - RADIUS


def test_on_a_narrow_screen_the_encoder_is_below_the_decoder(run: Replacement, found: Survey) -> None:
    wide = path_graph(run.runs, found, 30, LIGHT)
    graph = path_graph(run.runs, found, 30, LIGHT, is_narrow=True)
    assert (graph.nodes, graph.edges) == (wide.nodes, wide.edges)
    places, (width, height) = places_of(graph), graph.data["size"]
    assert all(places[edge.receiver].y < places[edge.sender].y for edge in graph.edges)
    assert width < wide.data["size"][0] - GAP
    ends = [Point(*point) for edge in graph.data["edges"] for point in edge["curve"][::3]]
    assert all(0 <= at.x <= width and 0 <= at.y <= height for at in [*places.values(), *ends])


def test_the_strongest_edges_are_drawn_thickest_last(run: Replacement, found: Survey) -> None:
    first = found.ranked()[0].edge
    graph = path_graph(run.runs, found, 12, DARK, first, first.sender)
    nodes, edges = graph.data["nodes"], graph.data["edges"]
    assert graph.edges == [each.edge for each in reversed(found.ranked()[:12])]
    shares = [edge["share"] for edge in edges]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert [edge["selected"] for edge in edges] == [False] * 11 + [True]
    assert [node["selected"] for node in nodes] == [each == first.sender for each in graph.nodes]
    for edge, drawn in zip(graph.edges, edges, strict=True):
        assert (drawn["color"] == DARK.diverging[-1]) == (found.effects[edge] > 0)
        assert drawn["letter"] == {"query": "Q", "key": "K", "value": "V", "input": ""}[edge.input]
    used = {end for edge in graph.edges for end in edge[:2]}
    assert [node["used"] for node in nodes] == [each in used for each in graph.nodes]
    unmeasured = path_graph(run.runs, Survey(found.edges), 5, LIGHT)
    assert all(edge["name"].endswith(", estimated") for edge in unmeasured.data["edges"])
    assert not path_graph(run.runs, Survey(), 5, LIGHT).edges


def test_an_encoder_without_edges_takes_no_room(run: Replacement, found: Survey) -> None:
    inner = [each for each in found.edges if {sender_side(end) for end in each.edge[:2]} == {"decoder"}]
    for is_narrow in (False, True):
        both, one = (path_graph(run.runs, each, 30, LIGHT, is_narrow=is_narrow) for each in (found, Survey(inner)))
        assert [title for title, *_ in one.data["titles"]] == ["Decoder"]
        assert one.data["size"][is_narrow] < both.data["size"][is_narrow]
        assert {sender_side(node) for node in places_of(one)} == {"decoder"}


def test_clicks_name_nodes_and_edges(run: Replacement, found: Survey) -> None:
    graph = path_graph(run.runs, found, 12, LIGHT)
    assert json.loads(json.dumps(graph.data))
    assert clicked_place({"node": 0}, graph) == graph.nodes[0]
    assert clicked_place({"edge": 11}, graph) == graph.edges[11]
    for value in (None, "node", {"edge": 12}, {"node": -1}, {"node": "0"}):
        assert clicked_place(value, graph) is None
