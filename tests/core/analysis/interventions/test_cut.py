from pathlib import Path

import pytest

from core.analysis.interventions.cut import CUT
from core.analysis.interventions.cuts import cut_effect, parse_cut
from core.cli.commands import main
from tests.core.analysis.conftest import Command

pytestmark = pytest.mark.usefixtures("short_translations")
SENTENCE = ("--text", "A dog runs.", "--beam-size", "1")


def test_the_table_is_the_effect(command: Command):
    name = "cross L2 H3 row 1-2 column 1 to 0.5 rest"
    rows = command("cut", *SENTENCE, "--target", "Ein Hund.", "--cut", name, "decoder L1 H1")
    translator = command.translator
    effect = cut_effect(translator, "A dog runs.", "Ein Hund.", [parse_cut(name), parse_cut("decoder L1 H1")])
    assert [float(row["change"]) for row in rows] == pytest.approx(list(effect.changes), abs=1e-6)
    assert command.said.startswith("before: Ein Hund.\nafter:  ")
    found = CUT(translator, "A dog runs.", "Ein Hund.", cut=(parse_cut(name), parse_cut("decoder L1 H1")), beam_size=1)
    (grid,) = found.pictures()
    assert [cell.says for cell in grid.rows[0][1] if cell] == [f"{each:+.3f}" for each in effect.changes]
    assert found.answer().startswith(f"The log-probability changes by {effect.change:+.2f} nats; the translation")


def test_found_cuts_can_be_given_back(tiny_checkpoint: Path, capsys: pytest.CaptureFixture[str]):
    sentence = ["cut", "--checkpoint", str(tiny_checkpoint), *SENTENCE]
    assert main([*sentence, "--find", "1", "--kinds", "encoder_self", "decoder_self", "cross"]) in (0, 1)
    printed = capsys.readouterr()
    assert "margin" in printed.err
    if printed.out:
        assert main([*sentence, "--cut", *printed.out.splitlines()]) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cut", "cross"], "'cross' is not a cut: expected a head"),
        (["--cut", "cross L9 H1"], "this model has no head cross L9 H1"),
        (["--find", "99"], "--find (99) must be one of the"),
    ],
)
def test_what_is_wrong_is_named(command: Command, options: list[str], message: str):
    assert message in command.error("cut", *SENTENCE, *options)
