"""Candidates of a beam search: a table, and their fates in words."""

import pandas as pd

from core.analysis.beam_tree import BeamNode, BeamTree
from core.analysis.tokens.words import readable
from viz_app.language import localized, marked, tr, tr_count

FATES = {"live": marked("live"), "finished": marked("finished"), "pruned": marked("pruned")}


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
            "fate": [tr(FATES[node.fate]) for node in nodes],
            "reason": [node_reason(node, tree) for node in nodes],
        }
    )


def node_reason(node: BeamNode, tree: BeamTree) -> str:
    """Describe a node's fate in the whole search, and its reason, in one sentence."""
    beam = tree.options.beam_size
    if node.position <= tree.num_forced:
        return tr("Forced: no other candidate was considered here.")
    if node.fate == "finished":
        place = 1 + [hypothesis.token_ids for hypothesis in tree.finished].index(node.token_ids)
        return tr("Finished: number {place} of {count} by score.", place=place, count=len(tree.finished))
    if node.fate == "pruned" and node.token_ids[-1] == tree.options.eos_id:
        return tr("Pruned: a finished hypothesis counts only among the first {count} candidates.", count=beam)
    if node.fate == "pruned":
        return tr_count(
            "Pruned: another candidate ranks above it.",
            "Pruned: {count} candidates that do not end rank above it.",
            beam,
        )
    if node.position == len(tree.steps):
        return tr("Still live when the search stopped.")
    if node.alive_until == len(tree.steps):
        return tr("Continued: a later hypothesis grew from it.")
    return tr(
        "Continued until position {last}; at {next} no continuation ranked within the beam.",
        last=node.alive_until,
        next=node.alive_until + 1,
    )


def stop_reason(tree: BeamTree) -> str:
    """Describe why the search ended, in one sentence."""
    options, finished = tree.options, len(tree.finished)
    if tree.stop == "limit":
        return tr("Stopped: {count} tokens are the limit, 50 more than the source has.", count=len(tree.steps))
    if tree.stop == "beam_finished":
        return tr("Stopped: as many hypotheses have finished ({count}) as the beam is wide.", count=finished)
    if finished < options.num_hypotheses:
        return tr("Stopped: no live hypothesis is left.")
    score = localized(tree.finished[options.num_hypotheses - 1].score, ".2f")
    if options.num_hypotheses == 1:
        return tr(
            "Stopped: no live hypothesis can still score above {score}, the score of the best finished one, because "
            "log-probabilities only fall.",
            score=score,
        )
    return tr(
        "Stopped: no live hypothesis can still score above {score}, the score of number {number} of the finished, "
        "because log-probabilities only fall.",
        score=score,
        number=options.num_hypotheses,
    )
