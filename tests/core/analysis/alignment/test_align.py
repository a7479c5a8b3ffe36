from pathlib import Path

import pytest

from core.analysis.alignment.align import AlignOptions, align
from core.analysis.alignment.aligners import rank_aligners
from core.analysis.alignment.pharaoh import read_gold_pairs
from core.cli.commands import main
from core.translator import Translator


@pytest.fixture
def options(tmp_path: Path, tiny_checkpoint: Path) -> list[str]:
    texts = {
        "source": "a dog runs .\nwhere is it ?\n",
        "target": "ein Hund läuft .\nwo ist es ?\n",
        "gold": "0-0 1-1 2-2 3-3\n0-0 1-1 2-2 3?3\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return [
        "--checkpoint",
        str(tiny_checkpoint),
        *(part for name in texts for part in (f"--{name}", str(tmp_path / name))),
    ]


def test_the_table_is_the_ranking(options: list[str], tiny_checkpoint: Path, capsys: pytest.CaptureFixture[str]):
    aligners = rank_aligners(Translator.from_checkpoint(tiny_checkpoint), read_gold_pairs(*options[3::2]))
    assert main(["align", *options]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0] == "2 sentence pairs; layers and heads counted from 1"
    assert lines[2].split() == ["head", "rows", "AER", "precision", "recall"]
    assert len(lines) == 3 + len(aligners) == 3 + 2 * (2 * (4 + 1) + 1)
    for line, aligner in zip(lines[3:], aligners, strict=True):
        assert line.split()[-4:-2] == [aligner.rows, f"{aligner.score.error_rate:.3f}"]
        assert line.startswith(str(aligner))
    assert "2/2" in printed.err
    assert main(["align", *options, "--method", "rollout", "--top", "3"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3 + 3


def test_the_table_counts_from_0(options: list[str], tiny_checkpoint: Path):
    translator = Translator.from_checkpoint(tiny_checkpoint)
    found = align(translator, AlignOptions(source=options[3], target=options[5], gold=options[7]))
    table = found.table()
    assert [*zip(table["layer"], table["head"], strict=True)] == [(each.layer, each.head) for each in found.aligners]
    assert table["error_rate"] == [each.score.error_rate for each in found.aligners]
    assert set(table["rows"]) == {each.rows for each in found.aligners}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("gold", "0-0\n0-9\n", "line 2: '0-9' is out of range: the target has 4 words"),
        ("gold", "0-0\n", "2 source lines, 2 target lines and 1 lines of links: expected equal numbers"),
        *((name, "", f"python -m core align: {name} is empty") for name in ("source", "target", "gold")),
    ],
)
def test_a_bad_file_ends_with_an_error(
    name: str, text: str, said: str, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / name).write_text(text)
    assert main(["align", *options]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err
