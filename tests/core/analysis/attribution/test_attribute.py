import csv
import io
from pathlib import Path

import pytest

from core.analysis.attribution.attribute import attribute_contrast
from core.analysis.attribution.contrast import contrast_at, runner_up
from core.analysis.attribution.contrast_methods import METHODS
from core.analysis.attribution.deletion_curves import RANDOM
from core.analysis.attribution.faithfulness import rank_methods, sample_curves
from core.cli.commands import main
from core.translator import Translator

FAST = ["--methods", "occlusion", "alti"]


@pytest.fixture
def sentence(tiny_checkpoint: Path) -> list[str]:
    return ["attribute", "--checkpoint", str(tiny_checkpoint), "--text", "A dog runs.", "--target", "Ein Hund."]


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize(("options", "against"), [([], "runner-up"), (["--alone"], None), (["--against", "<s>"], 1)])
def test_the_table_has_the_scores_of_all_tokens(
    sentence: list[str],
    options: list[str],
    against: str | int | None,
    tiny_checkpoint: Path,
    capsys: pytest.CaptureFixture[str],
):
    assert main([*sentence, "--token", "2", *options, *FAST]) == 0
    printed, translator = capsys.readouterr(), Translator.from_checkpoint(tiny_checkpoint)
    if against == "runner-up":
        against = runner_up(contrast_at(translator, "A dog runs.", "Ein Hund.", 1))
    found = attribute_contrast(translator, "A dog runs.", "Ein Hund.", 1, None, against, ["occlusion", "alti"])
    for method, scores in found.scores.items():
        assert [float(row[method]) for row in table(printed.out)] == pytest.approx(scores.tolist(), rel=1e-5)
    assert f"{found.output:.4f}, of the baseline {found.baseline:.4f}" in printed.err
    assert ("- log p(" in printed.err) == (against is not None)


def test_all_methods_and_the_gap(sentence: list[str], capsys: pytest.CaptureFixture[str]):
    assert main([*sentence, "--token", "1", "--piece", "</s>"]) == 0
    printed = capsys.readouterr()
    assert list(table(printed.out)[0])[3:] == list(METHODS)
    assert "integrated gradients: gap 0.0" in printed.err


def test_the_ranking_of_a_file(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 2)
    file, sentences = tmp_path / "sentences.txt", ["A\u2028dog.", "Where?"]
    file.write_text("\ufeff" + "\n".join(sentences) + "\n\n", encoding="utf-8")
    command = ["faithfulness", "--checkpoint", str(tiny_checkpoint), "--input", str(file), *FAST]
    assert main([*command, "--seed", "3"]) == 0
    printed = capsys.readouterr()
    rows = table(printed.out)
    translator = Translator.from_checkpoint(tiny_checkpoint)
    examples = list(sample_curves(translator, sentences, methods=["occlusion", "alti"], seed=3))
    expected = rank_methods([example.curves for example in examples])
    assert {row["method"] for row in rows} == {"occlusion", "alti", RANDOM}
    for row, each in zip(rows, expected.methods, strict=True):
        above = each.above_random
        numbers = [each.aopc, each.error, above.mean, above.low, above.high, above.p_value]
        names = ["aopc", "standard_error", "above_random", "low", "high", "p_value"]
        assert [float(row[name]) for name in names] == pytest.approx(numbers, rel=1e-5)
        assert (row["beats_random"], row["is_best"]) == (str(each.beats_random), str(each.is_best))
    assert expected.answer() in printed.err


def test_what_is_wrong_is_named(
    sentence: list[str], tiny_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main([*sentence, "--token", "99"]) == 1
    assert "--token (99) must be one of the" in capsys.readouterr().err
    assert main([*sentence, "--token", "1", "--against", "no such"]) == 1
    assert "'no such' is not one of the 400 pieces" in capsys.readouterr().err
    file = tmp_path / "empty.txt"
    for content, message in ((b"\n", "has no sentences: give a file with one per"), (b"\xff", "is not UTF-8 text")):
        file.write_bytes(content)
        assert main(["faithfulness", "--checkpoint", str(tiny_checkpoint), "--input", str(file)]) == 1
        assert message in capsys.readouterr().err
