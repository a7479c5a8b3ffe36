"""python -m core score: the same numbers as the functions, and errors that name the file."""

import csv
import io
from pathlib import Path

import pytest

from core.analysis.word_scores.scored_lines import parse_lines, score_lines, worst_words
from core.cli.commands import main
from core.translator import Translator

TEXT = "A dog runs.\tEin Hund läuft.\nThe sea.\tDas Meer\n"


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), delimiter="\t"))


def test_the_worst_words_with_links(
    tiny_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in.tsv").write_text(TEXT, encoding="utf-8")
    command = ["score", "--checkpoint", str(tiny_checkpoint), "--app", "http://localhost:9/"]
    assert main([*command, "--input", str(tmp_path / "in.tsv"), "-o", str(tmp_path / "out.tsv")]) == 0
    written = (tmp_path / "out.tsv").read_text(encoding="utf-8")
    rows = rows_of(written)
    expected = worst_words(score_lines(Translator.from_checkpoint(tiny_checkpoint), parse_lines(TEXT)))
    assert list(rows[0]) == ["log_prob", "probability", "word", "line", "number", "source", "translation", "link"]
    assert [(row["word"], row["line"], row["number"]) for row in rows] == [
        (each.text, str(each.line.number), str(each.number)) for each in expected
    ]
    assert [float(row["log_prob"]) for row in rows] == pytest.approx([each.log_prob for each in expected], abs=1e-4)
    assert all(row["link"].startswith("http://localhost:9/?text=") for row in rows)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert main([*command, "--top", "2"]) == 0
    assert rows_of(capsys.readouterr().out) == rows[:2]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"\ufeff{TEXT}".encode())))
    assert main(command) == 0
    assert rows_of(capsys.readouterr().out) == rows


@pytest.mark.parametrize(
    ("content", "arguments", "said"),
    [
        (b"\xff\xfe", [], "in.tsv is not UTF-8 text: it is UTF-16; convert it to UTF-8"),
        (b"a\tb\tc\n", [], "in.tsv: line 1 has 3 columns"),
        (b"a\n", ["--top", "0"], "--top (0) must be at least 1"),
        (
            b"a\tb\n",
            ["-o", "/nowhere/out.tsv"],
            "/nowhere/out.tsv cannot be written: there is no folder /nowhere; create it",
        ),
    ],
)
def test_what_cannot_be_scored_or_written_is_named(
    content: bytes,
    arguments: list[str],
    said: str,
    tiny_checkpoint: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "in.tsv").write_bytes(content)
    command = ["score", "--checkpoint", str(tiny_checkpoint), "--input", str(tmp_path / "in.tsv"), *arguments]
    assert main(command) == 1
    assert said in capsys.readouterr().err


def test_a_formula_is_written_as_a_text(
    tiny_checkpoint: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"=1+1 dogs\t-2+3 Hunde\n")))
    assert main(["score", "--checkpoint", str(tiny_checkpoint), "--app", "=cmd"]) == 0
    for row in rows_of(capsys.readouterr().out):
        assert (row["source"], row["translation"]) == ("'=1+1 dogs", "'-2+3 Hunde")
        assert row["link"].startswith("'=cmd/?")
        assert float(row["log_prob"]) <= 0
