"""Candidates of a beam search: a table, and their fates in words."""

import pandas as pd

from core.analysis.beam_tree import BeamNode, BeamTree
from core.analysis.tokens.words import readable


def beam_table(tree: BeamTree) -> pd.DataFrame:
    """Return a row for each candidate, with its fate and the reason for it."""
    nodes = [node for step in tree.steps for node in step]
    return pd.DataFrame(
        {
            "position": [node.position for node in nodes],
            "rank": [node.rank + 1 for node in nodes],
            "text": [node.text for node in nodes],
            "token": [readable(node.token) for node in nodes],
            "token_log_prob": [node.token_log_prob for node in nodes],
            "log_prob": [node.log_prob for node in nodes],
            "score": [node.score for node in nodes],
            "fate": [node.fate for node in nodes],
            "reason": [node_reason(node, tree) for node in nodes],
        }
    )


def node_reason(node: BeamNode, tree: BeamTree) -> str:
    """Describe a node's fate in the whole search, and its reason, in one sentence."""
    beam = tree.options.beam_size
    if node.position <= tree.num_forced:
        return "Forced: no other candidate was considered here."
    if node.fate == "finished":
        place = 1 + [hypothesis.token_ids for hypothesis in tree.finished].index(node.token_ids)
        return f"Finished: number {place} of {len(tree.finished)} by score."
    if node.fate == "pruned" and node.token_ids[-1] == tree.options.eos_id:
        return f"Pruned: a finished hypothesis counts only among the first {beam} candidates."
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
        return "Stopped: no live hypothesis is left."
    asked = tree.finished[options.num_hypotheses - 1].score
    wanted = (
        "the best finished one" if options.num_hypotheses == 1 else f"number {options.num_hypotheses} of the finished"
    )
    return (
        f"Stopped: no live hypothesis can still score above {asked:.2f}, the score of {wanted}, because "
        f"log-probabilities only fall."
    )
