"""The graph of direct paths between heads; nodes and edges are buttons."""

from collections.abc import Callable

from core.analysis.composition.edges import Edge, Node
from viz_app.components.component import component_beside, draw
from viz_app.views.experiments.head_paths.figures import PathGraph

_component = component_beside(__file__)


def path_graph(graph: PathGraph, narrow: PathGraph, on_click: Callable[[Node | Edge], None], *, key: str) -> None:
    """Draw a graph, or the same one for a narrow screen; a clicked node or edge is sent before the page runs again."""
    draw(_component, [graph.data, narrow.data], key, "place", lambda value: clicked_place(value, graph), on_click)


def clicked_place(value: object, graph: PathGraph) -> Node | Edge | None:
    """Return the node or edge that the browser sent by its number, or None if there is no such."""
    match value:
        case {"node": int(number)} if 0 <= number < len(graph.nodes):
            return graph.nodes[number]
        case {"edge": int(number)} if 0 <= number < len(graph.edges):
            return graph.edges[number]
        case _:
            return None
