"""A beam search as a tree, with a row for each position."""

from collections.abc import Callable
from typing import Any

from core.analysis.beam_tree import BeamNode, BeamTree
from core.drawing.drawing_data import Span, label_spans, run_spans, spoken
from core.text.byte_pieces import BytePiece, is_special
from core.text.tokenizer import SPACE_MARK
from viz_app.components.component import component_beside, draw
from viz_app.drawing.display_text import direction
from viz_app.language import translated

_component = component_beside(__file__)


def tree_payload(tree: BeamTree, selected: BeamNode | None = None, end: BeamNode | None = None) -> dict[str, Any]:
    """Return the data of the tree with a selected candidate, and the end of its hypothesis, see `Data` in beam_tree.js.

    Returns:
        `steps`: for each position its candidates, with an index into `reasons`; `start`: the start token; `stop`: why
        the search ended; `direction`: reading direction of the best hypothesis; `selected`, `end`: position and rank of
        each.
    """
    reasons: dict[str, int] = {}
    best = {tree.best[:length] for length in range(1, len(tree.best) + 1)}
    return {
        "steps": [
            [
                {
                    "spans": label_spans(node.token),
                    "run": _run(node.token),
                    "name": spoken(node.token),
                    "glued": not node.token.startswith(SPACE_MARK) and not is_special(node.token),
                    "parent": node.parent,
                    "tokenLogProb": round(node.token_log_prob, 3),
                    "score": round(node.score, 2),
                    "fate": node.fate,
                    "until": node.alive_until,
                    "best": node.token_ids in best,
                    "forced": node.position <= tree.num_forced,
                    "reason": reasons.setdefault(translated(tree.reason(node)), len(reasons)),
                }
                for node in nodes
            ]
            for nodes in tree.steps
        ],
        "start": label_spans(tree.start),
        "reasons": list(reasons),
        "stop": translated(tree.stop_reason()),
        "direction": direction(
            next((node.text for nodes in reversed(tree.steps) for node in nodes if node.token_ids in best), "")
        ),
        "columns": max(map(len, tree.steps)),
        "selected": _place(selected),
        "end": _place(end or selected),
    }


def beam_tree(
    tree: BeamTree,
    on_click: Callable[[BeamNode], None],
    *,
    selected: BeamNode | None = None,
    end: BeamNode | None = None,
    key: str = "beam_tree",
) -> None:
    """Draw the tree, see `tree_payload`; `on_click` is called with the clicked node before the page runs again."""
    draw(_component, tree_payload(tree, selected, end), key, "node", lambda value: clicked_node(value, tree), on_click)


def clicked_node(value: object, tree: BeamTree) -> BeamNode | None:
    """Return the node that the browser sent, or None if there is no such node."""
    match value:
        case {"position": int(position), "rank": int(rank)} if 0 < position <= len(tree.steps) and 0 <= rank < len(
            tree.steps[position - 1]
        ):
            return tree.steps[position - 1][rank]
        case _:
            return None


def _place(node: BeamNode | None) -> list[int] | None:
    return node and [node.position, node.rank]


def _run(token: str) -> list[Span]:
    """Return a token's spans within the text of its hypothesis.

    A character of several bytes appears at its last byte, as other characters are possible before that.
    """
    if isinstance(token, BytePiece) and token.num_bytes > 1 and token.spells:
        return [(token.spells, "")] if token.number == token.num_bytes else []
    return run_spans(token)
