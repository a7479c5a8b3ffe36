"""The graph of direct paths between heads; nodes and edges are buttons."""

from collections.abc import Callable
from typing import Any

from core.analysis.composition.edges import Edge, Node
from viz_app.components.component import component_beside, draw
from viz_app.drawing.theme import Theme
from viz_app.views.experiments.head_paths.figures import RADIUS, PathGraph, letter_place

_component = component_beside(__file__)


def graph_payload(graph: PathGraph, theme: Theme) -> dict[str, Any]:
    """Return the data of a graph, see `Data` in path_graph.js, with numbers rounded to tenths of a pixel."""

    def rounded(*numbers: float) -> list[float]:
        return [round(number, 1) for number in numbers]

    colors = theme.diverging[0], theme.diverging[-1]
    return {
        "size": rounded(graph.width, graph.height),
        "radius": RADIUS,
        "nodes": [
            {
                "at": rounded(*node.at),
                "label": node.label,
                "name": node.name,
                "used": node.used,
                "selected": node.selected,
            }
            for node in graph.nodes
        ],
        "edges": [
            {
                "curve": [rounded(*point) for point in edge.curve],
                "share": round(edge.share, 4),
                "color": edge.color,
                "dash": edge.dash,
                "letter": edge.letter,
                "letterAt": rounded(*letter_place(edge)),
                "name": edge.name,
                "selected": edge.selected,
            }
            for edge in graph.edges
        ],
        "names": [[name, *rounded(*at)] for name, at in graph.rows],
        "titles": [[name, *rounded(*at)] for name, at in graph.titles],
        "legend": {"title": graph.effect, "ends": list(zip(colors, graph.ends, strict=True))},
    }


def path_graph(
    graph: PathGraph, narrow: PathGraph, theme: Theme, on_click: Callable[[Node | Edge], None], *, key: str
) -> None:
    """Draw a graph on the page.

    Args:
        narrow: The same graph for a narrow screen.
        on_click: Called with a clicked node or edge, before the page runs again.
        key: Key of the component, as for any widget.
    """
    data = [graph_payload(each, theme) for each in (graph, narrow)]
    draw(_component, data, key, "place", lambda value: clicked_place(value, graph), on_click)


def clicked_place(value: object, graph: PathGraph) -> Node | Edge | None:
    """Return the node or edge that the browser sent by its number, or None if there is no such."""
    match value:
        case {"node": int(number)} if 0 <= number < len(graph.nodes):
            return graph.nodes[number].node
        case {"edge": int(number)} if 0 <= number < len(graph.edges):
            return graph.edges[number].edge
        case _:
            return None
