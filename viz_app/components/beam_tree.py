"""A beam search as a tree, with a row for each position."""

from collections.abc import Callable
from typing import Any

from core.analysis.beam_tree import BeamNode, BeamTree
from core.byte_pieces import BytePiece, is_special
from core.drawing.token_spans import Span, label_spans, run_spans, spoken
from core.tokenizer import SPACE_MARK
from viz_app.components.component import component_beside, draw
from viz_app.figures.display_text import direction

_component = component_beside(__file__)


def tree_payload(tree: BeamTree, selected: tuple[int, ...] | None = None) -> dict[str, Any]:
    """Return the data of the tree, see `Data` in beam_tree.js.

    Args:
        selected: Token ids of the hypothesis to mark, if it is in the tree.

    Returns:
        `steps`: for each position its candidates, with an index into `reasons`; `stop`: why the search ended;
        `direction`: reading direction of the best hypothesis; `selected`: position and rank.
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
                    "reason": reasons.setdefault(node_reason(node, tree), len(reasons)),
                }
                for node in nodes
            ]
            for nodes in tree.steps
        ],
        "reasons": list(reasons),
        "stop": stop_reason(tree),
        "direction": direction(
            next((node.text for nodes in reversed(tree.steps) for node in nodes if node.token_ids in best), "")
        ),
        "columns": max(map(len, tree.steps)),
        "selected": next(
            ([node.position, node.rank] for nodes in tree.steps for node in nodes if node.token_ids == selected), None
        ),
    }


def beam_tree(
    tree: BeamTree,
    on_click: Callable[[BeamNode], None],
    *,
    selected: tuple[int, ...] | None = None,
    key: str = "beam_tree",
) -> None:
    """Draw the tree on the page.

    Args:
        on_click: Called with the clicked node, before the page runs again.
        selected: See `tree_payload`.
        key: Key of the component, as for any widget.
    """
    draw(_component, tree_payload(tree, selected), key, "node", lambda value: clicked_node(value, tree), on_click)


def clicked_node(value: object, tree: BeamTree) -> BeamNode | None:
    """Return the node that the browser sent, or None if there is no such node."""
    match value:
        case {"position": int(position), "rank": int(rank)} if 0 < position <= len(tree.steps) and 0 <= rank < len(
            tree.steps[position - 1]
        ):
            return tree.steps[position - 1][rank]
        case _:
            return None


def _run(token: str) -> list[Span]:
    """Return a token's spans within the text of its hypothesis.

    A character of several bytes appears at its last byte: before it, other characters are still possible.
    """
    if isinstance(token, BytePiece) and token.num_bytes > 1 and token.spells:
        return [(token.spells, "")] if token.number == token.num_bytes else []
    return run_spans(token)


def node_reason(node: BeamNode, tree: BeamTree) -> str:
    """Describe a node's fate in the whole search, and its reason, in one sentence."""
    beam = tree.options.beam_size
    if node.position <= tree.num_forced:
        return "Forced: no other candidate was considered here."
    if node.fate == "finished":
        place = 1 + [hypothesis.token_ids for hypothesis in tree.finished].index(node.token_ids)
        return f"Finished: number {place} of {len(tree.finished)} by score."
    if node.fate == "pruned" and node.token_ids[-1] == tree.options.eos_id:
        return f"Pruned: an end counts only among the first {beam} candidates."
    if node.fate == "pruned":
        return (
            f"Pruned: {beam} candidates that do not end rank above it."
            if beam > 1
            else "Pruned: another candidate ranks above it."
        )
    if node.position == len(tree.steps):
        return "Still live when the search stopped."
    if node.alive_until == len(tree.steps):
        return "Continued: a later hypothesis grew from it."
    last = node.alive_until
    return f"Continued until position {last}; at {last + 1} no continuation ranked within the beam."


def stop_reason(tree: BeamTree) -> str:
    """Describe why the search ended, in one sentence."""
    options, finished = tree.options, len(tree.finished)
    if tree.stop == "limit":
        return f"Stopped: {len(tree.steps)} tokens are the limit, 50 more than the source has."
    if tree.stop == "beam_finished":
        return f"Stopped: as many hypotheses have finished ({finished}) as the beam is wide."
    if finished < options.num_hypotheses:
        return "Stopped: no hypothesis is live any more."
    asked = tree.finished[options.num_hypotheses - 1].score
    wanted = (
        "the best finished one" if options.num_hypotheses == 1 else f"number {options.num_hypotheses} of the finished"
    )
    return (
        f"Stopped: no live hypothesis can still score above {asked:.2f}, the score of {wanted}, because "
        f"log-probabilities only fall."
    )
