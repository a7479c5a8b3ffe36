"""A constituency tree to click on, its words coloured by attention."""

from collections.abc import Callable, Sequence
from typing import Any

from core.parsing.trees import Tree
from viz_app.components.component import component_beside, draw, sent_index
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


def tree_drawing(tree: Tree, on_click: Callable[[int], None], *, selected: int, weights: Sequence[float]) -> None:
    """Draw the tree on the page, see `tree_payload`; `on_click` gets the clicked node before the page runs again."""
    payload = tree_payload(tree, selected, weights)
    draw(_component, payload, "tree", "node", lambda value: sent_index(value, len(payload["nodes"])), on_click)
