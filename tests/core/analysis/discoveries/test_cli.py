"""The page of `python -m core discover` is written whole, and what it cannot read is refused."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core import Translator
from core.analysis.discoveries import cli
from core.analysis.discoveries.facts import Discoveries, Fact
from core.cli.commands import main
from core.trace import Head

TEXT = "The </script><b>sea</b>."


@pytest.fixture
def fact(translator: Translator) -> Fact:
    about = translator.explain(TEXT, "Das <i>Meer.")
    clearest = TEXT, tuple(translator.token_ids(TEXT, "Das <i>Meer.").predicted)
    shares = 0.5, 0.4, 0.6, 0.25
    return Fact(Head("cross", 1, 2), "next", *shares, 8, clearest, about.maps["cross"][1], 3, 1.5, TEXT, "Das", "<i>")


def run(*options: str) -> int:
    return main(["discover", *options])


def test_the_page_has_every_fact_as_text(
    tiny_checkpoint: Path,
    fact: Fact,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def found(_: object, sentences: list[str]) -> Iterator[Discoveries]:
        assert sentences == [TEXT]
        yield Discoveries((), 1, 2)
        yield Discoveries((fact,), 2, 2, by_lot=(1, 2))

    monkeypatch.setattr(cli, "discover", found)
    output, sentences = tmp_path / "out.html", tmp_path / "sentences.txt"
    sentences.write_text(f"{TEXT}\tDas Meer.\n\n", "utf-8")
    assert run("--checkpoint", str(tiny_checkpoint), "--input", str(sentences), str(output)) == 0
    said = "most without Cross L2 H3, 3 of 8; without a head drawn by lot, 1.5, the median of 2."
    assert said in capsys.readouterr().out
    page = output.read_text("utf-8")
    assert not {"<b>", "<i>"} & set(re.findall(r"<\w+>", page))
    data: dict[str, Any] = json.loads(re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)[0])
    assert data["pictures"][0]["name"] == "Cross L2 H3 attends to the next token"
    assert data["texts"][0][0].startswith("50% on average, with a 95% interval from 40% to 60%;")
    assert "3 of 8 translations change" in data["texts"][0][1]
    assert TEXT in data["texts"][0][2]
    assert data["links"][0].startswith("http://localhost:8501/heads?text=The+%3C%2Fscript")
    assert fact.picture.rows[0][1][0] is not None
    table = Discoveries((fact,), 1, 1).table()
    assert {len(column) for column in table.values()} == {1}


@pytest.mark.parametrize(
    ("text", "output", "said"),
    [
        (None, "out.html", "no such file"),
        ("\n \n", "out.html", "sentences.txt: there is no sentence: expected one per line"),
        ("A dog.\n" * 501, "out.html", "sentences.txt has 501 sentences, at most 500 are read: shorten it"),
        ("A dog.", "out.txt", "out.txt is to be a web page: give a name that ends with .html"),
        ("A dog.", "none/out.html", "there is no folder"),
        ("very " * 600, "out.html", "sentence 1: the text has"),
    ],
)
def test_what_cannot_be_read_or_written_is_refused(
    text: str | None, output: str, said: str, tiny_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sentences = tmp_path / "sentences.txt"
    if text is not None:
        sentences.write_text(text, "utf-8")
    assert run("--checkpoint", str(tiny_checkpoint), "--input", str(sentences), str(tmp_path / output)) == 1
    assert said in capsys.readouterr().err
    assert not (tmp_path / output).exists()
