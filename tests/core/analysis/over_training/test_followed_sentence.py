"""The commands `train history` and `core over-training`."""

import csv
import io
from pathlib import Path

import pytest

import train.__main__ as train
from core.analysis.over_training.history import open_history
from core.cli import commands as core
from core.model.preset_configs import PRESETS

NUM_HEADS = PRESETS["tiny"].num_heads


pytestmark = pytest.mark.usefixtures("short_translations")


def test_a_run_is_packed(run_history: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "run.zip"
    assert train.main(["history", str(run_history), "-o", str(output)]) == 0
    size = output.stat().st_size / 1e6
    assert f"3 snapshots of 0, 100, 300 steps, {size:.1f} MB" in capsys.readouterr().out
    assert open_history(output).steps == (0, 100, 300)
    assert train.main(["history", str(run_history), "-o", str(tmp_path / "run.tar")]) == 1
    assert "run.tar must end in .zip: a packed history is one file" in capsys.readouterr().err


def test_translations_and_scores_as_csv(history_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["over-training", "--history", str(history_file), "--text", "Where?", "--beam-size", "2"]
    assert core.main(arguments) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["step"] for row in rows] == ["0", "100", "300"]
    translator = open_history(history_file).translator(300)
    last = translator.translate("Where?", 2)
    assert rows[-1]["translation"] == last.text
    explanation = translator.explain("Where?", last.hypotheses[0].token_ids)
    assert float(rows[-1]["log_prob"]) == pytest.approx(sum(explanation.log_probs), abs=1e-4)
    assert core.main([*arguments, "--score", "entropy"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    heads = {(row["kind"], row["layer"], row["head"]) for row in rows}
    assert len(rows) == 3 * len(heads) == 3 * sum(len(layer) for layer in explanation.maps.values()) * NUM_HEADS
    assert core.main([*arguments, "--lens"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["step"] for row in rows} == {"0", "100", "300"}
    top = max(int(row["level"]) for row in rows)
    own = [row for row in rows if (row["step"], int(row["level"])) == ("300", top)]
    assert [float(row["predicted_log_prob"]) for row in own] == pytest.approx(explanation.log_probs, abs=1e-4)
    assert core.main([*arguments, "--lens", "--score", "entropy"]) == 1
    assert "lens and score entropy are two tables: give one" in capsys.readouterr().err
