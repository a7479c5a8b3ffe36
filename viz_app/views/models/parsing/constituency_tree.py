"""A constituency tree to click on, its words coloured by attention."""

from collections.abc import Callable, Sequence
from typing import Any

from core.parsing.trees import Tree
from viz_app.components.component import component_beside, draw
from viz_app.views.models.parsing.figures import tree_nodes, width

_component = component_beside(__file__)


def tree_payload(tree: Tree, selected: int, weights: Sequence[float]) -> dict[str, Any]:
    """Return the data of the tree with its words' weights and the index of a node, see constituency_tree.js."""
    nodes = tree_nodes(tree)
    return {
        "nodes": [
            {
                "label": node.label,
                "x": round(node.x, 2),
                "row": node.row,
                "parent": node.parent,
                "words": [node.start + 1, node.end],
                "weight": round(weights[node.start], 4) if node.is_word else None,
            }
            for node in nodes
        ],
        "columns": round(width(nodes), 2),
        "rows": max(node.row for node in nodes) + 1,
        "selected": selected,
    }


def clicked_node(value: object, tree: Tree) -> int | None:
    """Return the node that the browser sent, or None if there is no such node."""
    return (
        value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(tree_nodes(tree)) else None
    )


def tree_drawing(tree: Tree, on_click: Callable[[int], None], *, selected: int, weights: Sequence[float]) -> None:
    """Draw the tree on the page, see `tree_payload`; `on_click` gets the clicked node before the page runs again."""
    draw(
        _component,
        tree_payload(tree, selected, weights),
        "tree",
        "node",
        lambda value: clicked_node(value, tree),
        on_click,
    )
