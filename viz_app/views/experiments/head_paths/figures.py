"""The strongest direct paths between heads as a graph.

The encoder is on the left of the decoder or, for narrow screens, below it.
"""

import math
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from core.analysis.composition.edges import EMBEDDINGS, Edge, Input, Node, nodes_of, sender_side, sublayers
from core.analysis.composition.survey import Survey
from core.analysis.interventions.pair_runs import Metric, PairRuns
from core.trace import STACK_NAMES, STACKS, Stack
from viz_app.drawing.display_text import decimal
from viz_app.drawing.theme import Dash, Theme
from viz_app.language import marked, tr, translated

LABEL, COLUMN, ROW, GAP, TOP, BOTTOM = 60.0, 20.0, 32.0, 56.0, 42.0, 16.0  # pixels: names, heads, sub-layers, ...
RADIUS, TRUNK, BOW = 9.0, 40.0, 34.0  # of a node; from the last head to the networks; of the longest curve among these
PORTS: dict[Input, float] = {"query": -7.0, "key": 0.0, "value": 7.0, "input": 0.0}  # to the right, where edges enter
NAMES = {
    "encoder_self": marked("self"),
    "encoder_feed_forward": marked("network"),
    "decoder_self": marked("self"),
    "cross": marked("cross"),
    "decoder_feed_forward": marked("network"),
}
LETTERS: dict[Input, str] = {"query": "Q", "key": "K", "value": "V", "input": ""}
DASHES: dict[Input, Dash] = {"query": "dash", "key": "dot", "value": "solid", "input": "solid"}
PLACE_NAMES = {"source": marked("source"), "target": marked("target"), "logit": marked("logit")}
EFFECTS: dict[Metric, str] = {
    "difference": marked("effect on A minus B in nats; thick: strong"),
    "log_prob": marked("effect on the log-probability of A in nats; thick: strong"),
}
ENDS: dict[Metric, tuple[str, str]] = {
    "difference": (marked("for B"), marked("for A")),
    "log_prob": (marked("against A"), marked("for A")),
}


class Point(NamedTuple):
    """A point of the drawing, in pixels from the upper left corner."""

    x: float
    y: float


Curve = tuple[Point, Point, Point, Point]


class PathGraph(NamedTuple):
    """A graph: its data, see `Graph` in path_graph.js, and what its nodes and edges (the weakest first) stand for."""

    data: dict[str, Any]
    nodes: list[Node]
    edges: list[Edge]


def path_graph(
    runs: PairRuns,
    survey: Survey,
    count: int,
    theme: Theme,
    edge: Edge | None = None,
    node: Node | None = None,
    *,
    is_narrow: bool = False,
) -> PathGraph:
    """Return the graph of the strongest edges, with numbers rounded to tenths of a pixel.

    On a narrow screen the encoder is below the decoder; the order of nodes and edges stays the same. Of the encoder,
    what no edge touches is left out.
    """
    drawn = [each for each in survey.ranked()[:count] if survey.effect(each)][::-1]
    largest = max((abs(survey.effect(each)) for each in drawn), default=1.0)
    used = {end for each in drawn for end in (each.edge.sender, each.edge.receiver)}
    places, rows, titles, size = _layout(runs, used, is_narrow)
    bows = _bows([each.edge for each in drawn], places)
    ends = theme.diverging[0], theme.diverging[-1]  # colours of effects below 0 and above
    edges: list[dict[str, Any]] = []
    for each in drawn:
        sender, receiver, which = each.edge
        curve = _curve(each.edge, places[sender], places[receiver], bows.get(each.edge), is_narrow)
        effect, title = survey.effect(each), translated(each.edge.title)
        number = decimal(effect, 3, sign=True)
        name = f"{title}: {number}"
        if each.edge not in survey.effects:
            name = tr("{edge}: {effect}, estimated", edge=title, effect=number)
        edges.append(
            {
                "curve": [_rounded(point) for point in curve],
                "share": round(abs(effect) / largest, 4),
                "color": ends[effect > 0],
                "dash": DASHES[which],
                "letter": LETTERS[which],
                "letterAt": _rounded(Point(places[receiver].x + PORTS[which], places[receiver].y + RADIUS + 7)),
                "name": name,
                "selected": each.edge == edge,
            }
        )
    nodes = [
        {
            "at": _rounded(at),
            "label": _label(each),
            "name": translated(each.title),
            "used": each in used,
            "selected": each == node,
        }
        for each, at in places.items()
    ]
    data = {
        "size": _rounded(size),
        "radius": RADIUS,
        "nodes": nodes,
        "edges": edges,
        "names": [[name, *_rounded(at)] for name, at in rows],
        "titles": [[name, *_rounded(at)] for name, at in titles],
        "legend": {"title": tr(EFFECTS[runs.metric]), "ends": list(zip(ends, map(tr, ENDS[runs.metric]), strict=True))},
    }
    return PathGraph(data, list(places), [each.edge for each in drawn])


def _rounded(point: Point) -> list[float]:
    return [round(number, 1) for number in point]


def _label(node: Node) -> str:
    if node.head is not None:
        return str(node.head + 1)
    return "FF" if node.layer is not None else {"source": "x", "target": "y", "logit": "A"}[node.part]


def _layout(
    runs: PairRuns, used: AbstractSet[Node], is_narrow: bool
) -> tuple[dict[Node, Point], list[tuple[str, Point]], list[tuple[str, Point]], Point]:
    """Return places of the nodes, later sub-layers higher, names of rows and of sides, and the size."""
    stacks: dict[Stack, list[tuple[list[Node], str]]] = {}
    for side in STACKS:
        found = [([Node(EMBEDDINGS[side])], tr(PLACE_NAMES[EMBEDDINGS[side]]))]
        found += [
            (nodes_of(runs, place), f"L{place.layer + 1} {tr(NAMES[place.component])}")
            for place in sublayers(runs, side)
        ]
        if side == "decoder":
            found.append(([Node("logit")], tr(PLACE_NAMES["logit"])))
        elif not (found := [row for row in found if not used.isdisjoint(row[0])]):
            continue
        stacks[side] = found
    heights = [TOP + BOTTOM + ROW * (len(of_side) - 1) for of_side in stacks.values()]
    height = sum(heights) if is_narrow else max(heights)
    places, rows, titles = dict[Node, Point](), list[tuple[str, Point]](), list[tuple[str, Point]]()
    left, bottom, right = LABEL if is_narrow or len(stacks) > 1 else 0.0, height - BOTTOM, 0.0
    for side, of_side in stacks.items():
        columns = max(len(nodes) if nodes[0].head is not None else 0 for nodes, _ in of_side)
        start, trunk = left + RADIUS, left + RADIUS + max(BOW, COLUMN * (columns - 1) + TRUNK)
        names = 0.0 if side == "encoder" or is_narrow else trunk + BOW + 2 * RADIUS
        pitch = ROW if is_narrow else min(2 * ROW, (height - TOP - BOTTOM) / max(1, len(of_side) - 1))
        top = bottom - pitch * (len(of_side) - 1)
        for index, (nodes, name) in enumerate(of_side):
            y = bottom - pitch * index
            places |= {node: Point(trunk if node.head is None else start + COLUMN * node.head, y) for node in nodes}
            rows.append((name, Point(names, y)))
        titles.append((tr(STACK_NAMES[side]), Point(0.0 if side == "encoder" or is_narrow else left, top - TOP + 14)))
        if is_narrow:
            right, bottom = max(right, trunk + BOW + RADIUS), top - TOP - BOTTOM
        else:
            right, left = trunk + BOW + 2 * RADIUS + LABEL, trunk + GAP
    return places, rows, titles, Point(right, height)


def _bows(edges: list[Edge], places: dict[Node, Point]) -> dict[Edge, float]:
    """Return how far the edges between networks of a stack bend: the longer, the further; in turn to both sides."""
    bows: dict[Edge, float] = {}
    for side in STACKS:
        trunk = [
            each
            for each in edges
            if {sender_side(each.sender), sender_side(each.receiver)} == {side}
            and each.sender.head is None
            and each.receiver.head is None
        ]
        lengths = {each: places[each.sender].y - places[each.receiver].y for each in trunk}
        for number, each in enumerate(sorted(trunk, key=lengths.__getitem__), start=1):
            bows[each] = min(BOW * number / len(trunk), 0.6 * lengths[each]) * (-1) ** number
    return bows


def _curve(edge: Edge, start: Point, end: Point, bow: float | None, is_narrow: bool) -> Curve:
    """Return a curve that leaves a head at its top and enters one from below, at the place of its input.

    It leaves and enters what stands alone in its row at a side, the one with the other end; between networks of a stack
    it is bent to a side.
    """
    if bow is not None:
        side = math.copysign(1, bow)
        aside, across = start.x + side * RADIUS + bow * 4 / 3, side * RADIUS * 0.8
        one, other = (Point(at.x + across, at.y + up * RADIUS * 0.6) for at, up in ((start, -1), (end, 1)))
        bend = (one.y - other.y) / 4
        return one, Point(aside, one.y - bend), Point(aside, other.y + bend), other
    port, bend = PORTS[edge.input], max((start.y - end.y) / 2 - RADIUS, ROW / 3)
    one, after = Point(start.x, start.y - RADIUS), Point(start.x, start.y - RADIUS - bend)
    other = Point(end.x + port, end.y + math.sqrt(RADIUS**2 - port**2))
    before = Point(other.x, other.y + bend)
    beside = min(abs(end.x - start.x) / 2, GAP)
    if edge.sender.head is None:
        side = 1 if sender_side(edge.sender) == "encoder" and edge.receiver.part == "cross" and not is_narrow else -1
        one, after = Point(start.x + side * RADIUS, start.y), Point(start.x + side * (RADIUS + beside), start.y)
    if edge.receiver.head is None:
        other, before = Point(end.x - RADIUS, end.y), Point(end.x - RADIUS - beside, end.y)
    return one, after, before, other
