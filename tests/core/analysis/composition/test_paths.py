"""`python -m core paths`."""

import re

import pytest

from core.analysis.composition.edge_effects import edge_flow, exact_effects
from core.analysis.composition.edges import Edge, Node
from core.analysis.composition.paths import PATHS, positions_grid, values_grid
from core.analysis.composition.replacement import record_replacement
from core.model import MultiHeadAttention
from tests.core.analysis.conftest import Command
from tests.core.analysis.interventions.conftest import CLEAN, CORRUPTED

TARGET = "Das alte Haus"


SENTENCE = ("--text", CLEAN, "--target", TARGET, "--token", "3")


def test_the_strongest_edges_are_printed(command: Command):
    rows = command("paths", *SENTENCE, "--corrupted", CORRUPTED, "--strongest", "12")
    assert len(rows) == 12
    sizes = [abs(float(row["effect"])) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    run = record_replacement(command.translator, CLEAN, TARGET, 2, "sentence", CORRUPTED)

    def node(row: dict[str, str], end: str) -> Node:
        numbers = (int(row[f"{end}_{name}"]) if row[f"{end}_{name}"] else None for name in ("layer", "head"))
        return Node(row[f"{end}_part"], *numbers)  # type: ignore[arg-type]

    edges = [Edge(node(row, "sender"), node(row, "receiver"), row["input"]) for row in rows]  # type: ignore[arg-type]
    expected = exact_effects(run, [(edge, None) for edge in edges])
    assert [float(row["effect"]) for row in rows] == pytest.approx(expected.tolist(), abs=1e-4)
    assert "rank correlation of estimates and effects: " in command.said
    assert "rank correlation of value composition by weights and change" in command.said


def test_all_edges_and_a_check_with_hooks(command: Command):
    rows = command("paths", *SENTENCE, "--all", "--replaced-by", "zero", "--strongest", "60")
    measured = [row["effect"] != "" for row in rows]
    assert measured == sorted(measured, reverse=True)
    assert sum(measured) == 60 < len(rows)
    assert f"{len(rows)} edges, {sum(measured)} measured exactly" in command.said
    assert float(command.said.rsplit("gap ", 1)[1]) < 1e-3


def test_the_pictures_name_edges_for_readers(command: Command):
    names = {
        Node("encoder_feed_forward", 1): "Encoder L2 network",
        Node("cross", 0, 1): "Cross L1 H2",
        Node("source"): "Source embedding",
        Node("logit"): "Logit",
    }
    assert {node: node.title for node in names} == names
    edge = Edge(Node("encoder_self", 0, 0), Node("cross", 1, 0), "key")
    assert edge.title == "Encoder L1 H1 \u2192 Cross L2 H1, key"
    found = PATHS(command.translator, CLEAN, TARGET, token=2, strongest=10)
    best, (grid,) = found.edges.ranked()[0], found.pictures()
    assert grid.rows[0][0] == best.edge.title
    assert [len(cells) for _, cells in grid.rows] == [2] * 10 + [1] * 10
    metric, effect = found.run.metric, found.edges.effects[best.edge]
    says = f"Without {best.edge.title}, the difference of both logits is {metric - effect:+.2f} nats instead of "
    assert found.answer().startswith(says)
    heads = next(each.edge for each in found.edges.ranked() if each.edge.sender.as_head and each.edge.receiver.as_head)
    assert f"The strongest path between two heads is {heads.title}: " in found.answer()
    flow = edge_flow(found.run, Edge(Node("source"), Node("cross", 1, 0), "value"))
    tokens = found.run.runs.source_tokens[0]
    for drawn in (values_grid(flow, tokens), positions_grid([0.5] * len(tokens), tokens)):
        assert len(drawn.rows[0][1]) == len(drawn.columns) == len(tokens)


def test_a_model_whose_layers_are_not_linear_in_their_heads_is_refused(
    command: Command, monkeypatch: pytest.MonkeyPatch
):
    own = MultiHeadAttention.forward
    monkeypatch.setattr(MultiHeadAttention, "forward", lambda *inputs: 9 * own(*inputs).tanh())
    message = command.error("paths", *SENTENCE, "--strongest", "60")
    assert re.match(r"python -m core paths: the effect of .* > .*, repeated with hooks: the analysis compu", message)
