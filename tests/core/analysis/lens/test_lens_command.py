import csv
import io
from pathlib import Path

import pytest

from core.analysis.lens.logit_lens import logit_lens
from core.cli.commands import main
from core.translator import Translator


@pytest.fixture
def sentence(tiny_checkpoint: Path) -> list[str]:
    return ["lens", "--checkpoint", str(tiny_checkpoint), "--text", "A dog runs.", "--beam-size", "1"]


def test_the_table_is_the_lens(sentence: list[str], tiny_checkpoint: Path, capsys: pytest.CaptureFixture[str]):
    assert main([*sentence, "--target", "Ein Hund.", "--top", "2"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    lens = logit_lens(Translator.from_checkpoint(tiny_checkpoint), "A dog runs.", "Ein Hund.", 2)
    assert len(rows) == lens.token_ids.numel()
    found = [float(row["log_prob"]) for row in rows]
    assert found == pytest.approx(lens.log_probs.flatten().tolist(), rel=1e-6)
    assert [int(row["level"]) for row in rows] == sorted(int(row["level"]) for row in rows)


def test_the_translations_of_the_encoder(
    sentence: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tiny_checkpoint: Path
):
    monkeypatch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 4)
    assert main([*sentence, "--encoder"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["level"] for row in rows] == ["0", "1", "2"]
    own = Translator.from_checkpoint(tiny_checkpoint).translate("A dog runs.", 1)
    assert rows[-1]["translation"] == own.text
