"""Thresholds of the signs: the quantile, the damage, and the file beside a checkpoint."""

import dataclasses
import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import ANY, Mock

import pytest

from core.analysis.sample_sentences import SAMPLE
from core.analysis.signs import thresholds
from core.analysis.signs import thresholds as module
from core.analysis.signs.pair_signs import SIGNS
from core.analysis.signs.rates import Count, Rate, read_pairs
from core.analysis.signs.text_signs import TEXT_SIGNS
from core.cli.commands import main
from core.files.file_writing import file_digest
from core.files.shipped_files import shipped_folder
from core.model import Transformer
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator

GIVEN = thresholds.SignThresholds(
    {name: thresholds.Threshold(number + 0.5, 8, 0.0) for number, name in enumerate(SIGNS)}, "a sample", 8, "ab"
)


@pytest.mark.parametrize("count", [1, 7, 10, 48])
def test_a_threshold_catches_its_share_and_no_larger_one_does(count: int) -> None:
    damaged = [float(each * 37 % count) for each in range(count)]
    found = thresholds.threshold([-1.0] * 10, damaged)
    assert found.value is not None
    assert sum(each >= found.value for each in damaged) >= thresholds.CAUGHT * count
    larger = [each for each in damaged if each > found.value]
    assert len(larger) < thresholds.CAUGHT * count
    assert (found.damaged, found.own) == (count, 0.0)


def test_a_sign_that_undamaged_translations_show_too_has_no_threshold() -> None:
    assert thresholds.threshold([5.0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [4.0]) == thresholds.Threshold(
        4.0, 1, thresholds.MOST_OWN
    )
    assert thresholds.threshold([5.0, 5.0, 0, 0, 0, 0, 0, 0, 0, 0], [4.0]) == thresholds.Threshold(None, 1, 0.2)
    assert thresholds.threshold([0.0], []) == thresholds.Threshold(None, 0, 0.0)
    assert thresholds.threshold([0.0], [-float("inf")]).value is None


def test_damage() -> None:
    assert thresholds.repeated("a b c d") == "a b c c c c d"
    assert thresholds.repeated("a") == "a a a a"
    assert thresholds.repeated("") == ""


def test_thresholds_of_a_model(tiny_model: Transformer, tokenizer: SentencePieceTokenizer) -> None:
    found = thresholds.measure_thresholds(Translator(tiny_model, tokenizer), SAMPLE[:8], "eight")
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
        thresholds.measure_thresholds(Translator(tiny_model, tokenizer), ["A dog."] * count)


def test_a_sample_in_another_language_than_that_of_the_index_is_refused(
    tiny_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = Path(shutil.copy(tiny_checkpoint, tmp_path))
    command = ["sign-thresholds", "--checkpoint", str(checkpoint), "--input", str(tmp_path / "in.txt")]
    monkeypatch.setattr(module, "language_by_index", languages := Mock(wraps=module.language_by_index))
    (tmp_path / "in.txt").write_text("Grace Hopper sailed.\n" * 3 + "Zwei Hunde laufen.\n" * 5, "utf-8")
    assert main(command) == 0  # without an index nothing is known of the language
    languages.assert_called_once_with(tmp_path / "tiny.corpus.npz", file_digest(checkpoint), ANY)
    languages.side_effect = lambda *_: SimpleNamespace(is_other=lambda text: "Hunde" in text)
    assert main(command) == 1
    assert "5 of the 8 sentences of in.txt are not in the language" in capsys.readouterr().err


def test_a_file_has_what_was_saved(tmp_path: Path) -> None:
    for saved in (GIVEN, rated(3, 9)):
        thresholds.save_thresholds(tmp_path / "a.signs.json", saved)
        assert thresholds.load_thresholds(tmp_path / "a.signs.json", "ab") == saved
    assert [GIVEN[name] for name in SIGNS] == [number + 0.5 for number in range(len(SIGNS))]


def rated(fired: int, count: int) -> thresholds.SignThresholds:
    rate = Rate(Count(0, 8), Count(fired, count))
    return dataclasses.replace(GIVEN, rates={"one": dict.fromkeys(SIGNS, rate), "two": dict.fromkeys(SIGNS, rate)})


def test_of_given_translations_a_sign_is_not_offered_that_fires_on_right_ones() -> None:
    assert GIVEN.withheld() == ["doubtful"]  # as it was not measured
    assert rated(5, 100).withheld() == []
    assert rated(6, 100).withheld() == list(SIGNS)
    assert rated(6, 100).offered(given=True)["numbers"] is None
    assert rated(6, 100).offered(given=False)["numbers"] == GIVEN["numbers"]
    assert rated(6, 100).share("numbers", "right") == 0.06
    assert rated(6, 100).share("numbers", "own") == 0.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"digest": "cd"}, "has the thresholds of another checkpoint .cd., this one is ab"),
        ({"version": 1}, "has the format 'headlight-sign-thresholds' 1, expected headlight-sign-thresholds 2"),
        ({"rates": {"a": {"numbers": [[1, 2]]}}}, "is damaged .KeyError: 'detached'."),
        ({"rates": []}, "is damaged .AttributeError"),
        ({"signs": {}}, "is damaged .KeyError: 'detached'."),
        ({"signs": {name: {"value": "x"} for name in SIGNS}}, "is damaged .ValueError"),
        ({"signs": 3}, "is damaged .TypeError"),
    ],
)
def test_a_damaged_file_is_refused(change: dict[str, object], said: str, tmp_path: Path) -> None:
    path = tmp_path / "a.signs.json"
    thresholds.save_thresholds(path, GIVEN)
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **change}), "utf-8")
    with pytest.raises(ValueError, match=said):
        thresholds.load_thresholds(path, "ab")


def test_the_command_writes_the_file_beside_the_checkpoint(
    tiny_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = Path(shutil.copy(tiny_checkpoint, tmp_path))
    (tmp_path / "in.txt").write_text("\n".join(SAMPLE[:8]), "utf-8")
    right = tmp_path / "right.tsv"
    right.write_text("In 2014.\tIm Jahr 2014.\nIn 2015.\tIm Jahr 2016.\n3 dogs.\tDrei Hunde.\n", "utf-8")
    command = ["sign-thresholds", "--checkpoint", str(checkpoint), "--input", str(tmp_path / "in.txt")]
    assert main([*command, "--right", str(right), "--sampled", "2"]) == 0
    found = thresholds.load_thresholds(thresholds.thresholds_beside(checkpoint), file_digest(checkpoint))
    assert (found.sample, found.sentences) == ("in.txt", 8)
    assert found.rates["right"]["numbers"].right == (1, 3)  # of the texts alone: all are counted
    assert [found.rates["right"][name].own.translations for name in SIGNS] == [2, 2, 2, 2, 2, 2, 1]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "sign,threshold,damaged,own_share,fires_on_own,fires_on_right,for_given"
    assert [line.split(",")[0] for line in lines[1:]] == list(SIGNS)


@pytest.mark.parametrize("line", ["a", "a\tb\tc", "\tb", "a\t"])
def test_right_translations_are_beside_their_sentences(line: str, tmp_path: Path) -> None:
    (tmp_path / "right.tsv").write_text(f"a\tb\n\n{line}\n", "utf-8")
    with pytest.raises(ValueError, match=r"right\.tsv: line 3 has . texts, expected a sentence, a tab and its right"):
        read_pairs(tmp_path / "right.tsv")


def test_shipped_thresholds_are_of_the_shipped_checkpoints() -> None:
    files = list(shipped_folder("checkpoints").glob("*.signs.json"))
    assert {path.name.removesuffix(".signs.json") for path in files} >= {"en-de", "en-fr", "multi30k"}
    for path in files:
        checkpoint = path.with_name(path.name.replace(".signs.json", ".safetensors"))
        found = thresholds.load_thresholds(path, file_digest(checkpoint))
        assert found.sentences == len(SAMPLE)
        for of, rates in found.rates.items():
            fired = {name: rates[name].right.fired / rates[name].right.translations for name in TEXT_SIGNS}
            assert max(fired.values()) <= 0.01, of
