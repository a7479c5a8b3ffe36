"""A beam search as a tree to step through: a row a position, the candidates of each from the best to the worst."""

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
    """What the browser needs to draw the tree.

    Args:
        selected: token ids of the hypothesis to mark, if it is in the tree.

    Returns:
        `steps`: for each position its nodes: spans, alone and within a `run` of text, name as it is read aloud, whether
        no space is before them, the parent's rank, probability of the token, score, fate, `until` when it is alive,
        whether it is on the way to the best hypothesis, whether it was forced, and an index into `reasons`; `stop`: why
        the search ended; `direction`: where the best hypothesis is read from; `selected`: position and rank.
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
        on_click: told which node was clicked, before the page runs again.
        selected: as for `tree_payload`.
        key: of the component, as for any widget.
    """
    draw(_component, tree_payload(tree, selected), key, "node", lambda value: clicked_node(value, tree), on_click)


def clicked_node(value: object, tree: BeamTree) -> BeamNode | None:
    """What the browser sent as a node, or None if there is no such node."""
    match value:
        case {"position": int(position), "rank": int(rank)} if 0 < position <= len(tree.steps) and 0 <= rank < len(
            tree.steps[position - 1]
        ):
            return tree.steps[position - 1][rank]
        case _:
            return None


def _run(token: str) -> list[Span]:
    """A token within the text of its hypothesis: a character of several bytes where it is complete, for before it
    may become others too.
    """
    if isinstance(token, BytePiece) and token.num_bytes > 1 and token.spells:
        return [(token.spells, "")] if token.number == token.num_bytes else []
    return run_spans(token)


def node_reason(node: BeamNode, tree: BeamTree) -> str:
    """What became of a node in the whole search, and why: one sentence."""
    beam = tree.options.beam_size
    if node.position <= tree.num_forced:
        return "Forced: no other candidate was looked at here."
    if node.fate == "finished":
        place = 1 + [hypothesis.token_ids for hypothesis in tree.finished].index(node.token_ids)
        return f"Finished: number {place} of {len(tree.finished)} by score."
    if node.fate == "pruned" and node.token_ids[-1] == tree.options.eos_id:
        return f"Pruned: it would end here, but only an end among the first {beam} candidates counts."
    if node.fate == "pruned":
        return (
            f"Pruned: {beam} candidates that do not end rank above it."
            if beam > 1
            else "Pruned: another candidate ranks above it."
        )
    if node.position == len(tree.steps):
        return "Still live when the search stopped."
    if node.alive_until == len(tree.steps):
        return "Went on: something that continues it has finished, or was live to the end."
    return (
        f"Went on until position {node.alive_until}; at {node.alive_until + 1} no continuation ranked within the beam."
    )


def stop_reason(tree: BeamTree) -> str:
    """Why the search ended: one sentence."""
    options, finished = tree.options, len(tree.finished)
    if tree.stop == "limit":
        return f"Stopped: {len(tree.steps)} tokens are the limit, the source's length and 50 more."
    if tree.stop == "beam_finished":
        return f"Stopped: as many hypotheses have finished ({finished}) as the beam is wide."
    if finished < options.num_hypotheses:
        return "Stopped: no hypothesis is live any more."
    asked = tree.finished[options.num_hypotheses - 1].score
    wanted = (
        "the best finished one" if options.num_hypotheses == 1 else f"number {options.num_hypotheses} of the finished"
    )
    return (
        f"Stopped: no live hypothesis can still score above {asked:.2f}, that of {wanted}, for a log-probability "
        f"only falls."
    )
