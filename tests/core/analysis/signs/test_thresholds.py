"""Thresholds of the signs: the quantile, the damage, and the file beside a checkpoint."""

import json
import shutil
from pathlib import Path

import pytest

from core.analysis.sample_sentences import SAMPLE
from core.analysis.signs import thresholds as module
from core.analysis.signs.pair_signs import SIGNS
from core.analysis.signs.thresholds import (
    CAUGHT,
    MOST_OWN,
    SignThresholds,
    Threshold,
    load_thresholds,
    measure_thresholds,
    other_number,
    repeated,
    save_thresholds,
    threshold,
    thresholds_beside,
)
from core.cli.commands import main
from core.files.file_writing import file_digest
from core.files.shipped_files import shipped_folder
from core.model import Transformer
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator

GIVEN = SignThresholds(
    {name: Threshold(number + 0.5, 8, 0.0) for number, name in enumerate(SIGNS)}, "a sample", 8, "ab"
)


@pytest.mark.parametrize("count", [1, 7, 10, 48])
def test_a_threshold_catches_its_share_and_no_larger_one_does(count: int) -> None:
    damaged = [float(each * 37 % count) for each in range(count)]
    found = threshold([-1.0] * 10, damaged)
    assert found.value is not None
    assert sum(each >= found.value for each in damaged) >= CAUGHT * count
    larger = [each for each in damaged if each > found.value]
    assert len(larger) < CAUGHT * count
    assert (found.damaged, found.own) == (count, 0.0)


def test_a_sign_that_undamaged_translations_show_too_has_no_threshold() -> None:
    assert threshold([5.0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [4.0]) == Threshold(4.0, 1, MOST_OWN)
    assert threshold([5.0, 5.0, 0, 0, 0, 0, 0, 0, 0, 0], [4.0]) == Threshold(None, 1, 0.2)
    assert threshold([0.0], []) == Threshold(None, 0, 0.0)
    assert threshold([0.0], [-float("inf")]).value is None


def test_damage() -> None:
    assert repeated("a b c d") == "a b c c c c d"
    assert repeated("a") == "a a a a"
    assert repeated("") == ""
    assert other_number("im Jahr 1987 mit 3") == "im Jahr 1980 mit 3"


def test_the_sample_has_enough_of_each_kind() -> None:
    assert len(set(SAMPLE)) == len(SAMPLE)
    assert sum(any(map(str.isdecimal, each)) for each in SAMPLE) >= 16


def test_thresholds_of_a_model(tiny_model: Transformer, tokenizer: SentencePieceTokenizer) -> None:
    found = measure_thresholds(Translator(tiny_model, tokenizer), SAMPLE[:8], "eight")
    assert list(found.signs) == list(SIGNS)
    assert (found.sample, found.sentences) == ("eight", 8)
    assert [each.damaged for name, each in found.signs.items() if name in ("detached", "repetition", "doubtful")] == [
        8
    ] * 3
    assert found.signs["detached"].value is None  # an untrained model does not read its source


@pytest.mark.parametrize("count", [7, 501])
def test_too_few_or_too_many_sentences_are_refused(
    count: int, tiny_model: Transformer, tokenizer: SentencePieceTokenizer
) -> None:
    with pytest.raises(ValueError, match=f"the sample has {count} sentences, expected 8 to 500"):
        measure_thresholds(Translator(tiny_model, tokenizer), ["A dog."] * count)


def test_a_sample_in_another_language_is_refused(
    tiny_model: Transformer, tokenizer: SentencePieceTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Copied:
        is_copied, is_unknown = True, False

    monkeypatch.setattr(module, "source_familiarity", lambda *_: Copied())
    with pytest.raises(ValueError, match="8 of the 8 sentences of the shipped sample are not in the language"):
        measure_thresholds(Translator(tiny_model, tokenizer), SAMPLE[:8])


def test_a_file_has_what_was_saved(tmp_path: Path) -> None:
    save_thresholds(tmp_path / "a.signs.json", GIVEN)
    assert load_thresholds(tmp_path / "a.signs.json", "ab") == GIVEN
    assert [GIVEN[name] for name in SIGNS] == [0.5, 1.5, 2.5, 3.5, 4.5]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"digest": "cd"}, "has the thresholds of another checkpoint .cd., this one is ab"),
        ({"version": 2}, "has the format 'headlight-sign-thresholds' 2, expected headlight-sign-thresholds 1"),
        ({"signs": {}}, "is damaged .KeyError: 'detached'."),
        ({"signs": {name: {"value": "x"} for name in SIGNS}}, "is damaged .ValueError"),
        ({"signs": 3}, "is damaged .TypeError"),
    ],
)
def test_a_damaged_file_is_refused(change: dict[str, object], said: str, tmp_path: Path) -> None:
    path = tmp_path / "a.signs.json"
    save_thresholds(path, GIVEN)
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **change}), "utf-8")
    with pytest.raises(ValueError, match=said):
        load_thresholds(path, "ab")


def test_the_command_writes_the_file_beside_the_checkpoint(
    tiny_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = Path(shutil.copy(tiny_checkpoint, tmp_path))
    (tmp_path / "in.txt").write_text("\n".join(SAMPLE[:8]), "utf-8")
    command = ["sign-thresholds", "--checkpoint", str(checkpoint), "--input", str(tmp_path / "in.txt")]
    assert main(command) == 0
    found = load_thresholds(thresholds_beside(checkpoint), file_digest(checkpoint))
    assert (found.sample, found.sentences) == ("in.txt", 8)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "sign,threshold,damaged,own_share"
    assert [line.split(",")[0] for line in lines[1:]] == list(SIGNS)


def test_shipped_thresholds_are_of_the_shipped_checkpoints() -> None:
    files = list(shipped_folder("checkpoints").glob("*.signs.json"))
    assert {path.name.removesuffix(".signs.json") for path in files} >= {"en-de", "en-fr", "multi30k"}
    for path in files:
        checkpoint = path.with_name(path.name.replace(".signs.json", ".safetensors"))
        found = load_thresholds(path, file_digest(checkpoint))
        assert found.sentences == len(SAMPLE)
