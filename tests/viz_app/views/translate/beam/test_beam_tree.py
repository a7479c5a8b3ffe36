import json
from dataclasses import replace

import pytest

from core.analysis.beam_tree import BeamNode, BeamTree
from core.decoding import Hypothesis, SearchOptions
from viz_app.views.translate.beam.beam_tree import clicked_node, tree_payload


def node(
    position: int, rank: int, parent: int | None, token: str, ids: tuple[int, ...], fate: str, until: int
) -> BeamNode:
    return BeamNode(position, rank, parent, token, -0.5, -float(position), -0.8 * position, ids, token, fate, until)  # type: ignore[arg-type]


@pytest.fixture
def tree() -> BeamTree:
    """A beam of one over two positions; token 2 is `</s>`."""
    options = SearchOptions(bos_id=1, eos_id=2, never=(), beam_size=1)
    steps = (
        (
            node(1, 0, None, "\u2581Ein", (5,), "live", 2),
            node(1, 1, None, "</s>", (2,), "pruned", 0),
            node(1, 2, None, "\u2581Zwei", (6,), "pruned", 0),
        ),
        (node(2, 0, 0, "</s>", (5, 2), "finished", 2), node(2, 1, 0, "e", (5, 7), "live", 2)),
    )
    return BeamTree(steps, "beam_finished", options, (5, 2), (Hypothesis((5, 2), (-0.5, -0.5), -1.0, -1.6, True),))


def test_payload(tree: BeamTree) -> None:
    payload = json.loads(json.dumps(tree_payload(tree, tree.steps[0][2])))
    assert payload["selected"] == payload["end"] == [1, 2]
    assert payload["columns"] == 3
    first, pruned, _ = payload["steps"][0]
    assert (first["best"], first["until"], first["parent"], first["glued"]) == (True, 2, None, False)
    assert pruned["spans"] == [["</s>", "special"]]
    assert payload["steps"][1][1]["glued"]
    assert tree_payload(replace(tree, start="</s>"))["start"] == [("</s>", "special")]
    assert payload["reasons"][pruned["reason"]].startswith("Pruned: a finished hypothesis counts only")
    assert tree_payload(tree)["selected"] is tree_payload(tree)["end"] is None
    assert tree_payload(tree, tree.steps[0][0], tree.steps[1][0])["end"] == [2, 0]
    end = replace(tree.steps[1][0], text="A: \u05e9\u05dc\u05d5\u05dd")
    assert (payload["direction"], tree_payload(replace(tree, steps=(tree.steps[0], (end,))))["direction"]) == (
        "ltr",
        "rtl",
    )


def test_every_fate_has_its_reason(tree: BeamTree) -> None:
    (first, early, other), (end, last) = tree.steps
    assert tree.reason(first) == "Continued: a later hypothesis grew from it."
    assert tree.reason(early) == "Pruned: a finished hypothesis counts only among the first 1 candidates."
    assert tree.reason(other) == "Pruned: others that do not end, as many as the beam is wide (1), rank above it."
    assert tree.reason(end) == "Finished: number 1 of 1 by score."
    assert tree.reason(last) == "Still live when the search stopped."
    left = node(1, 0, None, "a", (5,), "live", 1)
    assert tree.reason(left) == "Continued until position 1; at 2 no continuation ranked within the beam."


def test_every_stop_has_its_reason(tree: BeamTree) -> None:
    assert "as many hypotheses have finished (1) as the beam is wide" in tree.stop_reason()
    assert "2 tokens are the limit" in replace(tree, stop="limit").stop_reason()
    best = replace(tree, stop="cannot_win")
    assert "can still score above -1.60, the score of number 1 of the finished" in best.stop_reason()
    assert "no live hypothesis is left" in replace(best, finished=()).stop_reason()


def test_a_clicked_node_is_found_and_what_is_no_node_is_nothing(tree: BeamTree) -> None:
    assert clicked_node({"position": 2, "rank": 1}, tree) is tree.steps[1][1]
    for position, rank in ((0, 0), (3, 0), (2, 2), ("1", 0)):
        assert clicked_node({"position": position, "rank": rank}, tree) is None
    assert clicked_node(None, tree) is clicked_node(3, tree) is clicked_node({}, tree) is None
