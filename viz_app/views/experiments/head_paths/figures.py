"""The strongest direct paths between heads as a graph.

The encoder is on the left of the decoder or, for narrow screens, below it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from core.analysis.composition.edge_effects import EdgeFlow
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
from core.analysis.pictures import Cell, Grid, effect_cells, effect_ends, effect_limit
from core.analysis.tokens.words import readable_all
from core.trace import STACKS, Stack
from viz_app.drawing.display_text import decimal
from viz_app.drawing.head_names import head_title
from viz_app.drawing.theme import Dash, Theme
from viz_app.language import marked, tr

if TYPE_CHECKING:
    import pandas as pd

LABEL, COLUMN, ROW, GAP, TOP, BOTTOM = (
    62.0,
    23.0,
    30.0,
    86.0,
    42.0,
    16.0,
)  # pixels: row names, heads, sub-layers, ...
RADIUS, TRUNK, BOW = 9.5, 32.0, 44.0  # of a node; from the last head to the networks; of the longest curve among these
NAMES = {
    "encoder_self": marked("self"),
    "encoder_feed_forward": marked("network"),
    "decoder_self": marked("self"),
    "cross": marked("cross"),
    "decoder_feed_forward": marked("network"),
}
LETTERS: dict[Input, str] = {"query": "Q", "key": "K", "value": "V", "input": ""}
DASHES: dict[Input, Dash] = {"query": "dash", "key": "dot", "value": "solid", "input": "solid"}
INPUT_NAMES: dict[Input, str] = {"query": marked("query"), "key": marked("key"), "value": marked("value"), "input": ""}
PLACE_NAMES = {"source": marked("source"), "target": marked("target"), "logit": marked("logit")}
NODE_TITLES = {
    "source": marked("Source embedding"),
    "target": marked("Target embedding"),
    "logit": marked("Logit"),
    "encoder_feed_forward": marked("Encoder L{layer} network"),
    "decoder_feed_forward": marked("Decoder L{layer} network"),
}
SIDE_NAMES: dict[Stack, str] = {"encoder": marked("Encoder"), "decoder": marked("Decoder")}
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


@dataclass(frozen=True, kw_only=True)
class GraphNode:
    """A node in its place.

    Attributes:
        label: Written in it.
        name: For screen readers and on hover.
        used: Whether an edge that is drawn leads to it or away from it.
        selected: Whether it is selected.
    """

    node: Node
    at: Point
    label: str
    name: str
    used: bool
    selected: bool


@dataclass(frozen=True, kw_only=True)
class GraphEdge:
    """An edge as a cubic curve.

    Attributes:
        curve: Start, two control points, and end.
        letter: Of the input that it leads to; "" for inputs of networks and of the logit.
        name: For screen readers and on hover.
    """

    edge: Edge
    curve: Curve
    share: float
    color: str
    dash: Dash
    letter: str
    name: str
    selected: bool


@dataclass(frozen=True, kw_only=True)
class PathGraph:
    """Nodes, edges (the weakest first), and names of rows and sides with their places.

    Attributes:
        effect: Name of the quantity that the effects change.
        ends: Names of both colours: of effects below 0 and above.
    """

    width: float
    height: float
    nodes: Sequence[GraphNode]
    edges: Sequence[GraphEdge]
    rows: Sequence[tuple[str, Point]]
    titles: Sequence[tuple[str, Point]]
    effect: str
    ends: tuple[str, str]


def node_title(node: Node) -> str:
    """Return a node's name: `Cross L5 H3`, `Encoder L2 network`, `Source embedding`."""
    if head := node.as_head:
        return head_title(head)
    return tr(NODE_TITLES[node.part], layer=0 if node.layer is None else node.layer + 1)


def edge_title(edge: Edge) -> str:
    """Return an edge's name: `Encoder L1 H2 → Cross L5 H3, value`."""
    which = "" if edge.input == "input" else f", {tr(INPUT_NAMES[edge.input])}"
    return f"{node_title(edge.sender)} \u2192 {node_title(edge.receiver)}{which}"


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
    """Return the graph of the strongest edges.

    Args:
        count: Edges to draw.
        edge, node: The selected ones.
        is_narrow: Whether the encoder is below the decoder; the order of nodes and edges stays the same.
    """
    places, rows, titles, size = _layout(runs, is_narrow)
    drawn = [each for each in survey.ranked()[:count] if survey.effect(each)]
    largest = max((abs(survey.effect(each)) for each in drawn), default=1.0)
    used = {end for each in drawn for end in (each.edge.sender, each.edge.receiver)}
    edges: list[GraphEdge] = []
    for each in reversed(drawn):
        effect, is_exact = survey.effect(each), each.edge in survey.effects
        share = abs(effect) / largest
        color = theme.diverging[-1 if effect > 0 else 0]
        number, title = decimal(effect, 3, sign=True), edge_title(each.edge)
        edges.append(
            GraphEdge(
                edge=each.edge,
                curve=_curve(*each.edge[:2], places[each.edge.sender], places[each.edge.receiver], size.y, is_narrow),
                share=share,
                color=color,
                dash=DASHES[each.edge.input],
                letter=LETTERS[each.edge.input],
                name=f"{title}: {number}" if is_exact else tr("{edge}: {effect}, estimated", edge=title, effect=number),
                selected=each.edge == edge,
            )
        )
    nodes = [
        GraphNode(
            node=each,
            at=at,
            label=_label(each),
            name=node_title(each),
            used=each in used,
            selected=each == node,
        )
        for each, at in places.items()
    ]
    return PathGraph(
        width=size.x,
        height=size.y,
        nodes=nodes,
        edges=edges,
        rows=rows,
        titles=titles,
        effect=tr(EFFECTS[runs.metric]),
        ends=(tr(ENDS[runs.metric][0]), tr(ENDS[runs.metric][1])),
    )


def _label(node: Node) -> str:
    if node.head is not None:
        return str(node.head + 1)
    return "FF" if node.layer is not None else {"source": "x", "target": "y", "logit": "A"}[node.part]


def _layout(
    runs: PairRuns, is_narrow: bool
) -> tuple[dict[Node, Point], list[tuple[str, Point]], list[tuple[str, Point]], Point]:
    """Return places of all nodes, later sub-layers higher, names of rows and of sides, and the size."""
    steps: dict[Stack, list[SubLayerPlace]] = {side: sublayers(runs, side) for side in STACKS}
    longest = max(map(len, steps.values())) + 1  # with the embedding and, in the decoder, the logit
    height = TOP + BOTTOM + ROW * longest
    if is_narrow:
        height += TOP + BOTTOM + ROW * len(steps["encoder"])
    places: dict[Node, Point] = {}
    rows: list[tuple[str, Point]] = []
    titles: list[tuple[str, Point]] = []
    left, bottom, right = LABEL, height - BOTTOM, 0.0
    for side in STACKS:
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
        titles.append((tr(SIDE_NAMES[side]), Point(0.0 if side == "encoder" or is_narrow else left, top - TOP + 14)))
        if is_narrow:
            right, bottom = max(right, trunk + BOW + RADIUS), top - TOP - BOTTOM
        else:
            right, left = trunk + BOW + 2 * RADIUS + LABEL, trunk + GAP
    return places, rows, titles, Point(right, height)


def _curve(sender: Node, receiver: Node, start: Point, end: Point, height: float, is_narrow: bool) -> Curve:
    """Return a curve that leaves a sender at its top and enters a receiver from below.

    Between networks it is bent to the right, the further the longer; from the encoder to a decoder at its side it
    leaves on the right and enters from the left.
    """
    if start.x == end.x and sender.head is None and receiver.head is None:
        aside = start.x + RADIUS + BOW * 4 / 3 * (start.y - end.y) / height
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


def letter_place(edge: GraphEdge) -> Point:
    """Return the place of an edge's letter: on the curve, near its end."""
    t = 0.86
    weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3
    x, y = (sum(w * point[axis] for w, point in zip(weights, edge.curve, strict=True)) for axis in (0, 1))
    return Point(x, y)


def values_grid(flow: EdgeFlow, tokens: Sequence[str]) -> Grid:
    """Return a grid with one row: the relative change of each token's value."""
    limit = max(1.0, float(flow.values.max()))
    cells = [
        Cell(text=decimal(value, 2), says=decimal(value, 3), shade=value / limit) for value in flow.values.tolist()
    ]
    return Grid(
        title=tr("Change of the values"),
        legend=tr("change of the value, relative to it"),
        ends=("0", decimal(limit, 1)),
        columns=readable_all(tokens),
        rows=[("", cells)],
        width=6,
    )


def positions_grid(effects: Sequence[float], tokens: Sequence[str]) -> Grid:
    """Return a grid with one row: the effect of the sender's output through an edge at each position."""
    limit = effect_limit(effects)
    return Grid(
        title=tr("Effects by position of the sender"),
        legend=tr("effect in nats"),
        ends=effect_ends(limit),
        scale="diverging",
        columns=readable_all(tokens),
        rows=[("", effect_cells(effects, limit))],
        width=6,
    )


def readable_table(survey: Survey, count: int) -> "pd.DataFrame":
    """Return the edges that are drawn, with names for people."""
    import pandas as pd

    edges = survey.ranked()[:count]
    return pd.DataFrame(
        {
            "from": [node_title(each.edge.sender) for each in edges],
            "to": [node_title(each.edge.receiver) for each in edges],
            "input": [tr(INPUT_NAMES[each.edge.input]) for each in edges],
            "effect": [survey.effects.get(each.edge) for each in edges],
            "estimate": [each.estimate for each in edges],
            "change": [each.change for each in edges],
            "composition": [survey.scores.get(each.edge) for each in edges],
        }
    )
