"""python -m core score: the same numbers as the functions, and errors that name the file."""

import csv
import io
import shutil
from pathlib import Path

import pytest

from core.analysis.signs.pair_signs import SIGNS
from core.analysis.signs.thresholds import SignThresholds, Threshold, save_thresholds, thresholds_beside
from core.analysis.word_scores.scored_lines import score_lines, worst_words
from core.analysis.word_scores.signed_lines import ranked_lines, sign_file
from core.cli.commands import main
from core.files.file_writing import file_digest
from core.text.text_files import parse_lines
from core.translator import Translator
from tests.core.analysis.conftest import Command

TEXT = "A dog runs.\tEin Hund läuft.\nThe sea.\tDas Meer\n"


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), delimiter="\t"))


def test_the_worst_words_with_links_and_an_option_of_another_one_needs_that(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in.tsv").write_text(TEXT, encoding="utf-8")
    score = ("score", "--app", "http://localhost:9/")
    command(*score, "--input", str(tmp_path / "in.tsv"), "-o", str(tmp_path / "out.tsv"))
    rows = rows_of((tmp_path / "out.tsv").read_text(encoding="utf-8"))
    expected = worst_words(score_lines(command.translator, parse_lines(TEXT)))
    assert list(rows[0]) == ["log_prob", "probability", "word", "line", "number", "source", "translation", "link"]
    assert [(row["word"], row["line"], row["number"]) for row in rows] == [
        (each.text, str(each.line.number), str(each.number)) for each in expected
    ]
    assert [float(row["log_prob"]) for row in rows] == pytest.approx([each.log_prob for each in expected], abs=1e-4)
    assert all(row["link"].startswith("http://localhost:9/?text=") for row in rows)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert command(*score, "--top", "2") == rows[:2]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"\ufeff{TEXT}".encode())))
    assert command(*score) == rows
    given = ("score", "--input", str(tmp_path / "in.tsv"))
    assert "--mend is an option of --signs: give --signs, too" in command.error(*given, "--mend")
    assert "--second is an option of --mend: give --mend, too" in command.error(*given, "--signs", "--second", "a")


@pytest.mark.parametrize(
    ("content", "arguments", "said"),
    [
        (b"\xff\xfe", [], "in.tsv is not UTF-8 text: it is UTF-16; convert it to UTF-8"),
        (b"a\tb\tc\n", [], "in.tsv: line 1 has 3 columns"),
        (b"a\tb\n", ["-o", "/nowhere/out.tsv"], "out.tsv cannot be written: there is no folder /nowhere; create it"),
    ],
)
def test_what_cannot_be_scored_or_written_is_named(
    content: bytes, arguments: list[str], said: str, command: Command, tmp_path: Path
) -> None:
    (tmp_path / "in.tsv").write_bytes(content)
    assert said in command.error("score", "--input", str(tmp_path / "in.tsv"), *arguments)


def test_a_formula_is_written_as_a_text(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"=1+1 dogs\t-2+3 Hunde\n")))
    for row in command("score", "--app", "=cmd"):
        assert (row["source"], row["translation"]) == ("'=1+1 dogs", "'-2+3 Hunde")
        assert row["link"].startswith("'=cmd/?")
        assert float(row["log_prob"]) <= 0


def test_the_signs_of_sentences(tiny_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = Path(shutil.copy(tiny_checkpoint, tmp_path))
    text = f"{TEXT}In 2014.\tIm Jahr 2015 2015 2015.\n"
    (tmp_path / "in.tsv").write_text(text, encoding="utf-8")
    limits = {name: Threshold(1.0 if name in ("repetition", "numbers") else 1e9, 8, 0.0) for name in SIGNS}
    thresholds = SignThresholds(limits, "a sample", 8, file_digest(checkpoint))
    save_thresholds(thresholds_beside(checkpoint), thresholds)
    command = ["score", "--checkpoint", str(checkpoint), "--input", str(tmp_path / "in.tsv"), "--signs"]
    assert main([*command, "--left-out", "2"]) == 0
    said = capsys.readouterr()
    assert (
        "of 3 sentences: detached 0 (from 1000000000.00), repetition 1 (from 1.00), numbers 1 (from 1.00)" in said.err
    )
    assert (
        "thresholds of detached, repetition, doubtful, left_out from the model's own translations of 8 sent" in said.err
    )
    assert "doubtful is not offered for given translations: this was not measured" in said.err
    rows = rows_of(said.out)
    translator = Translator.from_checkpoint(checkpoint)
    signed = sign_file(translator, score_lines(translator, parse_lines(text)), 2)
    for row, line in zip(rows, ranked_lines(signed, thresholds), strict=True):
        assert row["line"] == str(line.line.number)
        for name in SIGNS:
            assert row[name] == (f"{line.signs[name].value:.4f}" if name in line.signs else "")
    assert sum(row["left_out"] != "" for row in rows) == 2
    assert [row["signs"] for row in rows] == ["repetition numbers", "", ""]
    assert set(rows[0]["words"].split()) == {"2014", "2015"}  # of both sides
    assert "word=target.3&word=target.4" in rows[0]["link"] or "word=target.4&word=target.5" in rows[0]["link"]
    assert main([*command, "--mend"]) == 0
    said = capsys.readouterr()
    assert {(row["mended_by"], row["mended"]) for row in rows_of(said.out)} == {("", "")}
    assert "No setting mends one of the 1 sentences with a sign." in said.err
    (tmp_path / "cut.safetensors").write_bytes(checkpoint.read_bytes()[:1000])
    assert main([*command, "--mend", "--second", str(tmp_path / "cut.safetensors")]) == 1
    (error,) = capsys.readouterr().err.splitlines()  # before anything is scored, with its progress
    assert "cut.safetensors is truncated" in error
    assert main([*command, "--sort-by", "doubtful", "--top", "1", "--left-out", "0"]) == 0
    worst = max(signed, key=lambda line: line.signs["doubtful"].value)
    (row,) = rows_of(capsys.readouterr().out)
    assert (row["line"], row["left_out"]) == (str(worst.line.number), "")
    strongest = max(worst.signs["doubtful"].words, key=lambda each: each.value)
    assert worst.texts([strongest.word])[0] in row["words"].split()  # though this sign fires on none
