"""The command `compare`."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest

from core.analysis.signs.pair_signs import SIGNS, SignName
from core.analysis.signs.text_signs import TEXT_SIGNS
from core.analysis.signs.thresholds import SignThresholds, Threshold
from core.analysis.two_models.compare import COUNTED, CompareOptions, compared
from core.analysis.two_models.translated_lines import TestPair, TranslatedPair
from core.cli.commands import main
from core.files.shipped_files import shipped_checkpoint

MODELS = [shipped_checkpoint("multi30k"), shipped_checkpoint("multi30k-distilled")]
SOURCES, REFERENCES = "A dog runs.\nTwo men sit.\n", "Ein Hund läuft.\nZwei Männer sitzen.\n"


def run(*more: str) -> int:
    return main(["compare", "--checkpoint", str(MODELS[0]), "--other", str(MODELS[1]), *more])


def test_the_command_prints_the_sentences_and_their_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("test.en", SOURCES), ("test.de", REFERENCES)):
        (tmp_path / name).write_text(text)
    files = ["--input", str(tmp_path / "test.en"), "--references", str(tmp_path / "test.de")]
    assert run(*files, "--samples", "20", "--beam-size", "1") == 0
    printed = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(printed.out)))
    assert {(row["source"], row["reference"]) for row in rows} == {
        *zip(SOURCES.split("\n")[:2], REFERENCES.split("\n")[:2], strict=True)
    }
    differences = [float(row["difference"]) for row in rows]
    assert differences == sorted(differences, reverse=True)
    for row, difference in zip(rows, differences, strict=True):
        assert difference == pytest.approx(float(row["first_chrf"]) - float(row["second_chrf"]), abs=1e-6)
    assert "|bs:20|" in printed.err
    assert "chrF by words in the source" in printed.err
    assert "sentences with a sign of a bad translation" in printed.err


def test_an_invalid_test_set_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "test.tsv"
    path.write_text("A dog.\n")
    assert run("--input", str(path)) == 1
    assert "test.tsv: line 1 has no reference" in capsys.readouterr().err


def test_the_summary_says_what_is_not_significant() -> None:
    def line(number: int, first: str, second: str) -> TranslatedPair:
        return TranslatedPair(TestPair(number, "a b", "da ist ein Hund"), ((), first), ((), second), (0.0, 0.0))

    same = compared([line(1, "ein Hund", "ein Hund")] * 3, CompareOptions(samples=20))
    assert "3 sentences, 3 with the same translation" in same.summary()
    assert "p = 1.0000, equal" in same.summary()
    better = compared([line(number, "da ist ein Hund", "die Katze") for number in range(9)], CompareOptions(samples=99))
    assert "p = 0.0100\n" in better.summary()
    assert better.answer() == "By BLEU, first model is better than second model: 100.00 to 0.00, p = 0.0100."
    assert same.answer().startswith("By BLEU, it is open which is better: ")


def test_signs_are_counted_by_the_threshold_of_each_model() -> None:
    def line(number: int, first: float, second: float) -> TranslatedPair:
        values: list[dict[SignName, float]] = [{"detached": value, "repetition": 0.0} for value in (first, second)]
        pair = TestPair(number, "a b", "da ist ein Hund")
        return TranslatedPair(pair, ((), "x"), ((), "y"), (0.0, 0.0), (values[0], values[1]))

    def thresholds(**values: float) -> SignThresholds:
        return SignThresholds({name: Threshold(values.get(name), 1, 0.0) for name in SIGNS}, "sample", 1)

    lines = [line(1, 0.5, 2.0), line(2, 1.0, 0.9), line(3, 3.0, 0.1)]
    found = compared(
        lines, CompareOptions(samples=20), (thresholds(detached=1.0, numbers=0.0), thresholds(detached=0.5))
    )
    counts = {each.sign: (each.first, each.second) for each in found.signs}
    assert {name for name, each in counts.items() if each == (None, None)} == set(COUNTED) - {"detached", "numbers"}
    assert (counts["detached"], counts["numbers"]) == ((2, 2), (0, None))
    assert found.signs_table()["first"] == [2, None, 0, None, None, None]
    unmeasured = compared(lines, CompareOptions(samples=20)).signs
    assert [each.sign for each in unmeasured if each.first is not None] == list(TEXT_SIGNS)
    silent = [replace(each, signs=({}, {})) for each in lines]  # by models that have no signs
    assert {each.first for each in compared(silent, CompareOptions(samples=20)).signs} == {None}
