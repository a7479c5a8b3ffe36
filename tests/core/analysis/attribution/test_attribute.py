from pathlib import Path

import pytest

from core.analysis.attribution.attribute import attribute_contrast
from core.analysis.attribution.contrast import contrast_at, runner_up
from core.analysis.attribution.contrast_methods import METHODS
from core.analysis.attribution.deletion_curves import RANDOM
from core.analysis.attribution.faithfulness import rank_methods, sample_curves
from tests.core.analysis.conftest import DOG, Command

FAST = ["--methods", "occlusion", "alti"]


@pytest.mark.parametrize(("options", "against"), [([], "runner-up"), (["--alone"], None), (["--against", "<s>"], 1)])
def test_the_table_has_the_scores_of_all_tokens(command: Command, options: list[str], against: str | int | None):
    rows, translator = command("attribute", *DOG, "--token", "2", *options, *FAST), command.translator
    if against == "runner-up":
        against = runner_up(contrast_at(translator, "A dog runs.", "Ein Hund.", 1))
    found = attribute_contrast(translator, "A dog runs.", "Ein Hund.", 1, None, against, ["occlusion", "alti"])
    for method, scores in found.scores.items():
        assert [float(row[method]) for row in rows] == pytest.approx(scores.tolist(), rel=1e-5)
    assert f"{found.output:.4f}, of the baseline {found.baseline:.4f}" in command.said
    assert ("- log p(" in command.said) == (against is not None)


def test_all_methods_and_the_gap(command: Command):
    rows = command("attribute", *DOG, "--token", "1", "--piece", "</s>")
    assert list(rows[0])[3:] == list(METHODS)
    assert "integrated gradients: gap 0.0" in command.said


def test_the_ranking_of_a_file(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 2)
    file, sentences = tmp_path / "sentences.txt", ["A\u2028dog.", "Where?"]
    file.write_text("\ufeff" + "\n".join(sentences) + "\n\n", encoding="utf-8")
    rows = command("faithfulness", "--input", str(file), *FAST, "--seed", "3")
    examples = list(sample_curves(command.translator, sentences, methods=["occlusion", "alti"], seed=3))
    expected = rank_methods([example.curves for example in examples])
    assert {row["method"] for row in rows} == {"occlusion", "alti", RANDOM}
    for row, each in zip(rows, expected.methods, strict=True):
        above = each.above_random
        numbers = [each.aopc, each.error, above.mean, above.low, above.high, above.p_value]
        names = ["aopc", "standard_error", "above_random", "low", "high", "p_value"]
        assert [float(row[name]) for name in names] == pytest.approx(numbers, rel=1e-5)
        assert (row["beats_random"], row["is_best"]) == (str(each.beats_random), str(each.is_best))
    assert expected.answer() in command.said


def test_what_is_wrong_is_named(command: Command, tmp_path: Path):
    assert "--token (99) must be one of the" in command.error("attribute", *DOG, "--token", "99")
    message = command.error("attribute", *DOG, "--token", "1", "--against", "no such")
    assert "'no such' is not one of the 400 pieces" in message
    file = tmp_path / "empty.txt"
    for content, message in ((b"\n", "has no sentences: give a file with one per"), (b"\xff", "is not UTF-8 text")):
        file.write_bytes(content)
        assert message in command.error("faithfulness", "--input", str(file))
