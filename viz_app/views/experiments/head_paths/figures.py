"""The strongest direct paths between heads as a graph.

The encoder is on the left of the decoder or, for narrow screens, below it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from core.analysis.composition.edges import (
    EMBEDDINGS,
    Edge,
    Input,
    Node,
    SubLayerPlace,
    nodes_of,
    sender_side,
    sublayers,
)
from core.analysis.composition.survey import Survey
from core.analysis.interventions.pair_runs import Metric, PairRuns
from core.trace import STACK_NAMES, STACKS, Stack
from viz_app.drawing.display_text import decimal
from viz_app.drawing.theme import Dash, Theme
from viz_app.language import marked, tr, translated

LABEL, COLUMN, ROW, GAP, TOP, BOTTOM = (
    62.0,
    23.0,
    30.0,
    100.0,
    42.0,
    16.0,
)  # pixels: row names, heads, sub-layers, ...
RADIUS, TRUNK, BOW = 9.5, 32.0, 76.0  # of a node; from the last head to the networks; of the longest curve among these
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

    On a narrow screen the encoder is below the decoder; the order of nodes and edges stays the same. An encoder that no
    edge touches is left out.
    """
    drawn = [each for each in survey.ranked()[:count] if survey.effect(each)][::-1]
    largest = max((abs(survey.effect(each)) for each in drawn), default=1.0)
    used = {end for each in drawn for end in (each.edge.sender, each.edge.receiver)}
    has_encoder = not used or any(sender_side(end) == "encoder" for end in used)
    places, rows, titles, size = _layout(runs, STACKS if has_encoder else ("decoder",), is_narrow)
    bows = _bows([each.edge for each in drawn], places)
    ends = theme.diverging[0], theme.diverging[-1]  # colours of effects below 0 and above
    edges: list[dict[str, Any]] = []
    for each in drawn:
        sender, receiver, which = each.edge
        curve, effect = (
            _curve(sender, receiver, places[sender], places[receiver], bows.get(each.edge), is_narrow),
            survey.effect(each),
        )
        number, title = decimal(effect, 3, sign=True), translated(each.edge.title)
        is_exact = each.edge in survey.effects
        edges.append(
            {
                "curve": [_rounded(point) for point in curve],
                "share": round(abs(effect) / largest, 4),
                "color": ends[effect > 0],
                "dash": DASHES[which],
                "letter": LETTERS[which],
                "letterAt": _rounded(_letter_place(curve)),
                "name": f"{title}: {number}"
                if is_exact
                else tr("{edge}: {effect}, estimated", edge=title, effect=number),
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
    runs: PairRuns, sides: Sequence[Stack], is_narrow: bool
) -> tuple[dict[Node, Point], list[tuple[str, Point]], list[tuple[str, Point]], Point]:
    """Return places of the nodes, later sub-layers higher, names of rows and of sides, and the size."""
    steps: dict[Stack, list[SubLayerPlace]] = {side: sublayers(runs, side) for side in sides}
    longest = max(map(len, steps.values())) + 1  # with the embedding and, in the decoder, the logit
    height = TOP + BOTTOM + ROW * longest
    if is_narrow and len(sides) > 1:
        height += TOP + BOTTOM + ROW * len(steps["encoder"])
    places: dict[Node, Point] = {}
    rows: list[tuple[str, Point]] = []
    titles: list[tuple[str, Point]] = []
    left, bottom, right = LABEL if is_narrow or "encoder" in sides else 0.0, height - BOTTOM, 0.0
    for side in sides:
        columns = max(len(nodes_of(runs, place)) for place in steps[side])
        start, trunk = left + RADIUS, left + RADIUS + COLUMN * (columns - 1) + TRUNK
        names = 0.0 if side == "encoder" or is_narrow else trunk + BOW + 2 * RADIUS
        nodes = [[Node(EMBEDDINGS[side])], *(nodes_of(runs, place) for place in steps[side])]
        written = [tr(PLACE_NAMES[EMBEDDINGS[side]])]
        written += [f"L{layer + 1} {tr(NAMES[component])}" for component, layer in steps[side]]
        if side == "decoder":
            nodes.append([Node("logit")])
            written.append(tr(PLACE_NAMES["logit"]))
        pitch = ROW if is_narrow else (height - TOP - BOTTOM) / (len(nodes) - 1)
        for index, (of_row, name) in enumerate(zip(nodes, written, strict=True)):
            y = bottom - pitch * index
            places |= {node: Point(trunk if node.head is None else start + COLUMN * node.head, y) for node in of_row}
            rows.append((name, Point(names, y)))
        top = bottom - pitch * (len(nodes) - 1)
        titles.append((tr(STACK_NAMES[side]), Point(0.0 if side == "encoder" or is_narrow else left, top - TOP + 14)))
        if is_narrow:
            right, bottom = max(right, trunk + BOW + RADIUS), top - TOP - BOTTOM
        else:
            right, left = trunk + BOW + 2 * RADIUS + LABEL, trunk + GAP
    return places, rows, titles, Point(right, height)


def _bows(edges: list[Edge], places: dict[Node, Point]) -> dict[Edge, float]:
    """Return how far the edges between networks of a stack bend to the right: the longer, the further."""
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
            bows[each] = min(BOW * number / len(trunk), 0.6 * lengths[each])
    return bows


def _curve(sender: Node, receiver: Node, start: Point, end: Point, bow: float | None, is_narrow: bool) -> Curve:
    """Return a curve that leaves a sender at its top and enters a receiver from below.

    Between networks of a stack it is bent to the right; from the encoder to a decoder at its side it leaves on the
    right and enters from the left.
    """
    if bow is not None:
        aside = start.x + RADIUS + bow * 4 / 3
        edge = RADIUS * 0.8, RADIUS * 0.6  # of the node, to the right
        one, other = Point(start.x + edge[0], start.y - edge[1]), Point(end.x + edge[0], end.y + edge[1])
        bend = (one.y - other.y) / 4
        return one, Point(aside, one.y - bend), Point(aside, other.y + bend), other
    if sender_side(sender) == "encoder" and receiver.part == "cross" and not is_narrow:
        one, other = Point(start.x + RADIUS, start.y), Point(end.x - RADIUS, end.y)
        bend = min((other.x - one.x) / 2, GAP)
        return one, Point(one.x + bend, one.y), Point(other.x - bend, other.y), other
    one, other = Point(start.x, start.y - RADIUS), Point(end.x, end.y + RADIUS)
    bend = max((one.y - other.y) / 2, ROW / 3)
    return one, Point(one.x, one.y - bend), Point(other.x, other.y + bend), other


def _letter_place(curve: Curve) -> Point:
    """Return the place of an edge's letter: on the curve, near its end."""
    t = 0.86
    weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3
    x, y = (sum(w * point[axis] for w, point in zip(weights, curve, strict=True)) for axis in (0, 1))
    return Point(x, y)
