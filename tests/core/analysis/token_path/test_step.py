import csv
import io
from pathlib import Path

import pytest

from core.analysis.token_path.token_walk import follow_token
from core.cli.commands import main
from core.translator import Translator

TEXT, TARGET = "A dog runs.", "Ein Hund."


@pytest.fixture
def command(tiny_checkpoint: Path) -> list[str]:
    return ["step", "--checkpoint", str(tiny_checkpoint), "--text", TEXT, "--target", TARGET]


def test_the_table_is_the_path(command: list[str], tiny_checkpoint: Path, capsys: pytest.CaptureFixture[str]):
    assert main([*command, "--token", "2", "--layer", "2", "--head", "3"]) == 0
    captured = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(captured.out)))
    path = follow_token(Translator.from_checkpoint(tiny_checkpoint), TEXT, TARGET, "decoder", 1, 1, 2)
    expected = path.table()
    assert [float(row["value"]) for row in rows] == pytest.approx(expected["value"], rel=1e-6, abs=1e-12)
    assert [row["quantity"] for row in rows] == expected["quantity"]
    assert "layer 2, head 3: computed again by the formulas" in captured.err


def test_one_part_of_the_encoder(command: list[str], capsys: pytest.CaptureFixture[str]):
    assert main([*command, "--stack", "encoder", "--token", "1", "--part", "feed_forward"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["part"] for row in rows} == {"feed_forward"}


def test_what_is_wrong_is_named(command: list[str], capsys: pytest.CaptureFixture[str]):
    assert main([*command, "--token", "1", "--part", "nothing"]) == 1
    assert "no part 'nothing', expected one of embedding" in capsys.readouterr().err
