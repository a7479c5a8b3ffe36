"""`python -m core paths`."""

import csv
import io
import re
from pathlib import Path

import pytest

from core.analysis.composition.edge_effects import exact_effects
from core.analysis.composition.edges import Edge, Node
from core.analysis.composition.replacement import record_replacement
from core.cli.commands import main
from core.model import MultiHeadAttention
from core.translator import Translator
from tests.core.analysis.interventions.conftest import CLEAN, CORRUPTED

TARGET = "Das alte Haus"


def command(checkpoint: Path, *options: str) -> list[str]:
    return ["paths", "--checkpoint", str(checkpoint), "--text", CLEAN, "--target", TARGET, "--token", "3", *options]


def printed(checkpoint: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[list[dict[str, str]], str]:
    assert main(command(checkpoint, *options)) == 0
    output = capsys.readouterr()
    return list(csv.DictReader(io.StringIO(output.out))), output.err


def test_the_strongest_edges_are_printed(tiny_checkpoint: Path, capsys: pytest.CaptureFixture[str]):
    rows, said = printed(tiny_checkpoint, capsys, "--corrupted", CORRUPTED, "--strongest", "12")
    assert len(rows) == 12
    sizes = [abs(float(row["effect"])) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    translator = Translator.from_checkpoint(tiny_checkpoint)
    run = record_replacement(translator, CLEAN, TARGET, 2, "sentence", CORRUPTED)

    def node(row: dict[str, str], end: str) -> Node:
        numbers = (int(row[f"{end}_{name}"]) if row[f"{end}_{name}"] else None for name in ("layer", "head"))
        return Node(row[f"{end}_part"], *numbers)  # type: ignore[arg-type]

    edges = [Edge(node(row, "sender"), node(row, "receiver"), row["input"]) for row in rows]  # type: ignore[arg-type]
    expected = exact_effects(run, [(edge, None) for edge in edges])
    assert [float(row["effect"]) for row in rows] == pytest.approx(expected.tolist(), abs=1e-4)
    assert "rank correlation of estimates and effects: " in said
    assert "rank correlation of value composition by weights and change" in said


def test_all_edges_and_a_check_with_hooks(tiny_checkpoint: Path, capsys: pytest.CaptureFixture[str]):
    rows, said = printed(tiny_checkpoint, capsys, "--all", "--replaced-by", "zero", "--strongest", "60")
    measured = [row["effect"] != "" for row in rows]
    assert measured == sorted(measured, reverse=True)
    assert sum(measured) == 60 < len(rows)
    assert f"{len(rows)} edges, {sum(measured)} measured exactly" in said
    assert float(said.rsplit("gap ", 1)[1]) < 1e-3


def test_a_model_whose_layers_are_not_linear_in_their_heads_is_refused(
    tiny_checkpoint: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    own = MultiHeadAttention.forward
    monkeypatch.setattr(MultiHeadAttention, "forward", lambda *inputs: 9 * own(*inputs).tanh())
    assert main(command(tiny_checkpoint, "--strongest", "60")) == 1
    table, message = capsys.readouterr()
    assert not table
    assert re.search(
        r"^python -m core paths: the effect of .* > .*, repeated with hooks: the analysis computes", message
    )
