import csv
import io
from pathlib import Path

import pytest

from core.analysis.attribution.logit_attribution import attribute_logit
from core.analysis.attribution.logit_trace import trace_logits
from core.cli.commands import main
from core.translator import Translator


@pytest.fixture
def sentence(tiny_checkpoint: Path) -> list[str]:
    return ["--checkpoint", str(tiny_checkpoint), "--text", "A dog runs.", "--target", "Ein Hund."]


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("against", [[], ["--against", "mean"], ["--against", "<s>", "--piece", "</s>"]])
def test_the_terms_sum_to_the_logit(
    sentence: list[str], against: list[str], tiny_checkpoint: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["contributions", *sentence, "--token", "2", *against]) == 0
    printed = capsys.readouterr()
    total = sum(float(row["contribution"]) for row in table(printed.out))
    trace = trace_logits(Translator.from_checkpoint(tiny_checkpoint), "A dog runs.", "Ein Hund.")
    found = attribute_logit(trace, 1, *([2, 1] if len(against) > 2 else [None, "mean" if against else None]))
    assert total == pytest.approx(found.logit, abs=1e-5)
    assert f"the logit is {found.logit:.6f}" in printed.err


def test_the_lexicon_of_a_head_and_the_ranking(sentence: list[str], capsys: pytest.CaptureFixture[str]):
    assert main(["lexicon", *sentence]) == 0
    ranking = table(capsys.readouterr().out)
    assert len(ranking) == 8
    assert main(["lexicon", *sentence, "--head", "L2 H3", "--top", "2"]) == 0
    lexicon = table(capsys.readouterr().out)
    assert [row["rank"] for row in lexicon] == ["0", "1"] * (len(lexicon) // 2)
    assert lexicon[-1]["key_token"] == "</s>"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["contributions", "--token", "99"], "--token (99) must be one of the"),
        (
            ["contributions", "--token", "1", "--piece", "no such"],
            "'no such' is not one of the 400 pieces",
        ),
        (
            ["contributions", "--token", "1", "--against", "no such"],
            "'no such' is not one of the 400 pieces",
        ),
        (["lexicon", "--head", "3"], "--head (3) must be a head such as 'L4 H3', counted from 1"),
        (["lexicon", "--head", "L9 H1"], "there is no head cross L9 H1, counted from 1"),
    ],
)
def test_what_is_wrong_is_named(
    sentence: list[str], command: list[str], message: str, capsys: pytest.CaptureFixture[str]
):
    assert main([command[0], *sentence, *command[1:]]) == 1
    assert message in capsys.readouterr().err
