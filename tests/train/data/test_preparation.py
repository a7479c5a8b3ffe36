import itertools
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import train.data.preparation
from core.decoding.limits import Limits
from core.decoding.text_codec import TextCodec
from core.formats.checkpoint import load_checkpoint
from core.model.preset_configs import PRESETS
from core.text.text_normalization import VERSION
from core.text.tokenizer import SentencePieceTokenizer
from tests.train.conftest import contents, write_pairs
from train.__main__ import main
from train.data.filters import Filters
from train.data.parallel_text import ParallelText
from train.data.preparation import prepare
from train.data.preparation_settings import Preparation, Segmentation
from train.data.prepared_corpus import Corpus
from train.data.synthetic_pairs import Synthesis
from train.data.token_shards import CHECKSUMS, DataError, TokenShards, read_manifest

Pairs = list[tuple[str, str]]
Texts = tuple[ParallelText, ParallelText]


def write_texts(folder: Path, pairs: Pairs) -> Texts:
    """Write sixteen pairs for training, and the others for validation."""
    return write_pairs(folder, "train", pairs[:16]), write_pairs(folder, "valid", pairs[16:])


def prepared_from(folder: Path, texts: Texts, overwrite: bool = False, **changes: Any) -> dict[str, Any]:
    """Prepare texts with a vocabulary of 400 unless that is changed, and return the manifest."""
    return prepare(folder, Preparation(*texts, **{"vocab_size": 400, **changes}), overwrite=overwrite)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory, parallel_text: Pairs) -> Texts:
    return write_texts(tmp_path_factory.mktemp("texts"), parallel_text)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, texts: Texts) -> Path:
    """The texts prepared with a vocabulary of 400. Do not modify it: copy it."""
    folder = tmp_path_factory.mktemp("finished") / "data"
    prepared_from(folder, texts)
    return folder


def decoded(folder: Path, part: str) -> Pairs:
    tokenizer, shards = SentencePieceTokenizer.from_file(folder / "tokenizer.model"), TokenShards(folder / part)
    return [
        (tokenizer.decode(source), tokenizer.decode(target)) for source, target in map(shards.pair, range(len(shards)))
    ]


def test_tokens_decode_to_the_text(tmp_path: Path, texts: Texts, parallel_text: Pairs) -> None:
    folder = tmp_path / "data"
    manifest = prepared_from(folder, texts)
    assert decoded(folder, "train") == parallel_text[:16]
    assert decoded(folder, "valid") == parallel_text[16:]
    valid = (folder / "valid.target.txt").read_text(encoding="utf-8").splitlines()
    assert valid == [target for _, target in parallel_text[16:]]
    assert manifest == read_manifest(folder)
    shards = TokenShards(folder / "train")
    counts = {"source_tokens": len(shards.tokens[0]), "target_tokens": len(shards.tokens[1])}
    assert manifest["train"] == {"pairs": 16, **counts}
    facts = {"vocab_size": 400, "pairs_read": 16, "dropped": {}, "files": ["train.en", "train.de"]}
    assert {name: manifest[name] for name in facts} == facts
    assert {path.name for path in folder.iterdir()} == {
        *(f"{name}.json" for name in ("checksums", "manifest", "settings")),
        *("tokenizer.model", "train", "valid", "valid.source.txt", "valid.target.txt"),
    }


def test_training_reads_the_tokens_that_translation_reads(
    tmp_path: Path, finished: Path, texts: Texts, parallel_text: Pairs
) -> None:
    strange = [
        (f"\ufeff {source}\u2028 ".replace(" a ", "  a\u00a0"), f"\t{target.replace(' ', ' ' * 3)}\r")
        for source, target in parallel_text
    ]
    manifest = prepared_from(tmp_path / "data", write_texts(tmp_path, strange))
    assert manifest["text_normalization"] == VERSION
    assert decoded(tmp_path / "data", "train") == parallel_text[:16]
    for name in ("valid.source.txt", "valid.target.txt", "tokenizer.model"):
        assert (tmp_path / "data" / name).read_bytes() == (finished / name).read_bytes()
    tokenizer = SentencePieceTokenizer.from_file(tmp_path / "data" / "tokenizer.model")
    config = replace(PRESETS["tiny"], vocab_size=400)
    codec, shards = TextCodec(config, tokenizer, Limits(config, 0)), TokenShards(tmp_path / "data/train")
    for (source, target), (source_ids, target_ids) in zip(strange, map(shards.pair, range(16)), strict=False):
        assert codec.source_ids(source) == [*source_ids, tokenizer.eos_id]
        assert codec.target_ids(target) == codec.token_ids(source, target).predicted[:-1] == [*target_ids]


def test_text_of_another_normalization_is_named(tmp_path: Path, finished: Path, texts: Texts) -> None:
    config = replace(PRESETS["tiny"], vocab_size=400)
    assert not Corpus.open(finished, config).note()
    folder = shutil.copytree(finished, tmp_path / "data")
    (folder / CHECKSUMS).unlink()
    for name in ("manifest.json", "settings.json"):
        facts = json.loads((folder / name).read_text(encoding="utf-8"))
        del facts["text_normalization"]  # as folders were before
        (folder / name).write_text(json.dumps(facts), encoding="utf-8")
    assert "prepared with white space as it stands in the text" in Corpus.open(folder, config).note()
    with pytest.raises(DataError, match=r"prepared with another text_normalization \(0, not 1\)"):
        prepared_from(folder, texts)
    facts = read_manifest(folder) | {"text_normalization": VERSION + 1}
    (folder / "manifest.json").write_text(json.dumps(facts), encoding="utf-8")
    with pytest.raises(DataError, match=r"text of text_normalization 2, this Headlight knows up to 1: prepare it"):
        Corpus.open(folder, config)


def test_labels_weigh_pairs(tmp_path: Path, texts: Texts, parallel_text: Pairs) -> None:
    labels = tmp_path / "labels"
    labels.write_text("news\n" * 2 + "talk\n" * 10 + "web\n" * 4, encoding="utf-8")
    manifest = prepared_from(tmp_path / "data", texts, labels=labels, repeat={"news": 3, "web": 0})
    pairs = parallel_text
    assert decoded(tmp_path / "data", "train") == [pairs[0]] * 3 + [pairs[1]] * 3 + pairs[2:12]
    assert manifest["pairs_by_label"] == {"news": 2, "talk": 10, "web": 4}
    assert manifest["repeat"] == {"news": 3, "web": 0}


def test_bpe_dropout_gives_each_pair_in_other_pieces(
    tmp_path: Path, finished: Path, texts: Texts, parallel_text: Pairs
) -> None:
    labels = tmp_path / "labels"
    labels.write_text("news\n" * 2 + "talk\n" * 14, encoding="utf-8")
    options = {"repeat": {"news": 2}, "segmentation": Segmentation(bpe_dropout=0.3, segmentations=5)}
    manifest = prepared_from(tmp_path / "data", texts, labels=labels, **options)
    assert sorted(decoded(tmp_path / "data", "train")) == sorted(parallel_text[:2] * 10 + parallel_text[2:16] * 5)
    assert (manifest["bpe_dropout"], manifest["segmentations"], manifest["train"]["pairs"]) == (0.3, 5, 90)
    shards = TokenShards(tmp_path / "data" / "train")
    for side in range(2):
        rows = {tuple(shards.pair(number)[side]) for number in range(90)}
        assert len(rows) > 4 * 16  # few segmentations are equal
    for part in ("valid", "tokenizer.model", "valid.source.txt"):
        with_dropout, without = tmp_path / "data" / part, finished / part
        assert contents(with_dropout) == contents(without)
        assert with_dropout.is_dir() or with_dropout.read_bytes() == without.read_bytes()


def test_pairs_made_by_rule_follow_the_others(
    tmp_path: Path, texts: Texts, parallel_text: Pairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the tokenizer nor what is held out takes part."""
    monkeypatch.setattr(train.data.preparation, "CHUNK", 8)
    held_out = ParallelText(texts[0].source, texts[0].target)
    synthesis, segmentation = Synthesis(copying=0.25, capitals=0.5), Segmentation(bpe_dropout=0.3, segmentations=2)
    manifest = prepared_from(tmp_path / "data", texts, synthesis=synthesis)
    pairs = decoded(tmp_path / "data", "train")
    assert (pairs[:8], pairs[14:22]) == (parallel_text[:8], parallel_text[8:16])
    assert sum(source.isupper() for source, _ in pairs) == 6
    facts = {"copying": 0.25, "capitals": 0.5, "by_rule": [[8, 14], [22, 28]]}
    assert {name: manifest[name] for name in facts} == facts
    assert manifest["train"]["pairs"] == len(pairs) == 28
    with pytest.raises(DataError, match=r"another copying \(0.25, not 0.0\), capitals \(0.5, not 0.0\): give another"):
        prepared_from(tmp_path / "data", texts)
    options = {"synthesis": synthesis, "segmentation": segmentation}
    assert prepared_from(tmp_path / "sampled", texts, **options)["by_rule"] == [[16, 28], [44, 56]]
    assert prepared_from(tmp_path / "none", (texts[0], held_out), **options)["by_rule"] == []


def test_bpe_dropout_needs_merges(tmp_path: Path, texts: Texts) -> None:
    characters = tmp_path / "characters.model"
    characters.write_bytes(SentencePieceTokenizer.of_characters("abc ").to_bytes())
    with pytest.raises(ValueError, match="BPE-dropout needs a SentencePiece model of type bpe"):
        prepared_from(tmp_path / "data", texts, tokenizer=characters, segmentation=Segmentation(0.1, 2))


@pytest.mark.parametrize(
    ("bpe_dropout", "segmentations", "message"),
    [
        (1.0, 8, r"^bpe_dropout \(1.0\) must be a number from 0 to 1, 1 excluded$"),
        (0.1, 1001, r"^segmentations \(1001\) must be an integer from 1 to 1,000$"),
        (0.0, 8, r"^--segmentations \(8\) must be 1 without --bpe-dropout, which makes them differ$"),
    ],
)
def test_segmentations_out_of_range(bpe_dropout: float, segmentations: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Segmentation(bpe_dropout, segmentations)


def test_pairs_left_out_are_counted(tmp_path: Path, texts: Texts, parallel_text: Pairs) -> None:
    pairs = [*parallel_text[:16], ("", "leer"), parallel_text[0], ("same", "same")]
    filters = Filters(duplicates=True, identical=True)
    manifest = prepared_from(tmp_path / "data", (write_pairs(tmp_path, "more", pairs), texts[1]), filters=filters)
    assert manifest["dropped"] == {"empty": 1, "duplicate": 1, "identical": 1}
    assert manifest["pairs_read"] == 19
    assert decoded(tmp_path / "data", "train") == parallel_text[:16]


@pytest.mark.parametrize("name", ["UPPER.SAFETENSORS", "no-suffix"])
def test_the_tokenizer_of_a_checkpoint_is_used_whatever_its_name(
    tmp_path: Path, texts: Texts, tiny_checkpoint: Path, name: str
) -> None:
    shutil.copy(tiny_checkpoint, tmp_path / name)
    prepared_from(tmp_path / "data", texts, vocab_size=7, tokenizer=tmp_path / name)
    expected = load_checkpoint(tiny_checkpoint).tokenizer.to_bytes()
    assert (tmp_path / "data" / "tokenizer.model").read_bytes() == expected


def test_a_given_tokenizer_is_used(tmp_path: Path, texts: Texts, tokenizer: SentencePieceTokenizer) -> None:
    (tmp_path / "given.model").write_bytes(tokenizer.to_bytes())
    manifest = prepared_from(tmp_path / "data", texts, vocab_size=7, tokenizer=tmp_path / "given.model")
    assert (tmp_path / "data" / "tokenizer.model").read_bytes() == tokenizer.to_bytes()
    assert (manifest["vocab_size"], manifest["tokenizer"]) == (400, "given.model")
    nothing = ParallelText([tmp_path / "no.en"], [tmp_path / "no.de"])
    with pytest.raises(DataError, match="there is no tokenizer"):  # before the text is read
        prepared_from(tmp_path / "none", (nothing, texts[1]), vocab_size=7, tokenizer=tmp_path / "none.model")
    (tmp_path / "text.model").write_text("no model", encoding="utf-8")
    with pytest.raises(ValueError, match="not a SentencePiece model"):
        prepared_from(tmp_path / "none", texts, vocab_size=7, tokenizer=tmp_path / "text.model")


def test_chunks_change_nothing(tmp_path: Path, finished: Path, texts: Texts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train.data.preparation, "CHUNK", 3)
    prepared_from(tmp_path / "chunks", texts)
    assert contents(finished) == contents(tmp_path / "chunks")


class Killed(BaseException):
    """Simulates a SIGKILL."""


def test_a_kill_at_any_write_leaves_a_finished_or_a_resumable_folder(
    tmp_path: Path, texts: Texts, parallel_text: Pairs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Die before each file is renamed, in a folder with older, finished output.

    The text is cut at random, which must be the same again.
    """
    segmentation = Segmentation(bpe_dropout=0.1, segmentations=3)
    monkeypatch.setattr(train.data.preparation, "CHUNK", 6)
    prepared_from(tmp_path / "whole", texts, segmentation=segmentation)
    prepared_from(tmp_path / "old", (write_pairs(tmp_path, "old", parallel_text[4:12]), texts[1]))
    replace = os.replace
    for number in itertools.count(1):
        folder, calls = tmp_path / f"killed-{number}", itertools.count(1)

        def die(source: Path, target: Path, number: int = number, calls: "itertools.count[int]" = calls) -> None:
            if next(calls) == number:
                raise Killed
            replace(source, target)

        shutil.copytree(tmp_path / "old", folder)
        before = contents(folder)
        monkeypatch.setattr(os, "replace", die)
        try:
            prepared_from(folder, texts, segmentation=segmentation, overwrite=True)
        except Killed:
            monkeypatch.setattr(os, "replace", replace)
            after = {path: content for path, content in contents(folder).items() if path.parts[0] != "unfinished"}
            if (folder / "manifest.json").exists():
                assert after == before  # the old output, complete
            prepared_from(folder, texts, segmentation=segmentation, overwrite=True)
            assert contents(folder) == contents(tmp_path / "whole")
        else:
            break
    assert number > 6  # the request, the survey, the tokenizer, three chunks, the manifest


def test_resuming_does_not_repeat_finished_work(tmp_path: Path, texts: Texts, monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[object] = []
    learn = SentencePieceTokenizer.train
    monkeypatch.setattr(
        SentencePieceTokenizer, "train", lambda *rest, **named: learned.append(1) or learn(*rest, **named)
    )
    write_tokens = train.data.preparation._write_tokens
    monkeypatch.setattr(train.data.preparation, "_write_tokens", lambda *_: (_ for _ in ()).throw(Killed))
    with pytest.raises(Killed):
        prepared_from(tmp_path / "data", texts)
    monkeypatch.setattr(train.data.preparation, "_write_tokens", write_tokens)
    prepared_from(tmp_path / "data", texts)
    assert len(learned) == 1
    # with other options nothing old is used
    with pytest.raises(ValueError, match="no vocabulary of 7 pieces"):
        prepared_from(tmp_path / "data", texts, vocab_size=7, overwrite=True)


def test_bad_text_is_refused_and_leaves_no_finished_folder(tmp_path: Path, texts: Texts, parallel_text: Pairs) -> None:
    folder, (good, valid), nothing = tmp_path / "data", texts, tmp_path / "nothing"
    nothing.touch()
    cases: list[tuple[Any, str]] = [
        (ParallelText(good.source, [tmp_path / "none"]), "there is no file"),
        (ParallelText(good.source, valid.target), "not parallel: 16 lines but 4"),
        (write_pairs(tmp_path, "empty", [("", "leer"), ("blank", " ")]), "no sentence pair of .* is left .*: 2 empty"),
        (ParallelText([nothing], [nothing]), "no sentence pair of .* is left to train on: they are empty"),
        (ParallelText(), "there is no training text: give --source and --target, --pairs, or --set"),
    ]
    for bad, message in cases:
        with pytest.raises(DataError, match=message):
            prepared_from(folder, (bad, valid))
    message = "there is no validation text: give --valid-source and --valid-target, --valid-pairs, or --set"
    with pytest.raises(DataError, match=message):
        prepared_from(folder, (good, ParallelText()))
    with pytest.raises(DataError, match=r"there is no validation pair in .*: every pair has an empty side"):
        prepared_from(folder, (good, write_pairs(tmp_path, "blank", [(" ", "")])))
    for vocab_size in (10, 30_000):
        with pytest.raises(ValueError, match=f"no vocabulary of {vocab_size} pieces can be learned from this text"):
            prepared_from(folder, (good, valid), vocab_size=vocab_size)
    with pytest.raises(DataError, match="did not finish"):
        read_manifest(folder)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, texts: Texts) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    message = r"file/data could not be written: .*Not a directory.*; free disk space, or give another folder"
    with pytest.raises(DataError, match=message):
        prepared_from(tmp_path / "file" / "data", texts)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"vocab_size": 390}, r"vocab_size \(400, not 390\)"),
        (
            {"filters": Filters(max_words=9, duplicates=True)},
            r"max_words \(none, not 9\), duplicates \(False, not True\)",
        ),
        ({"symbols": ["x"]}, "symbols"),
        ({"tokenizer": "given.model"}, r"tokenizer \(learned from the training text, not given\.model\)"),
        ({"segmentation": Segmentation(0.1, 8)}, r"bpe_dropout \(0.0, not 0.1\), segmentations \(1, not 8\)"),
        ({"labels": "labels", "repeat": {"a": 2}}, r"labels \(none, not labels\), repeat \(none, not a=2\)"),
    ],
)
def test_a_folder_of_other_settings_is_only_replaced_with_overwrite(
    tmp_path: Path, finished: Path, texts: Texts, changes: dict[str, Any], named: str
) -> None:
    folder = shutil.copytree(finished, tmp_path / "data")
    before = contents(folder)
    (tmp_path / "given.model").write_bytes(before[Path("tokenizer.model")])
    (tmp_path / "labels").write_text("a\n" * 16, encoding="utf-8")
    paths = {name: tmp_path / changes[name] for name in ("tokenizer", "labels") if name in changes}
    asked = {"vocab_size": 400, **changes, **paths}
    advice = "give another folder, or --overwrite to replace it"
    with pytest.raises(DataError, match=f"data holds text that was prepared with another {named}: {advice}"):
        prepared_from(folder, texts, **asked)
    assert contents(folder) == before
    prepared_from(folder, texts, **asked, overwrite=True)
    assert contents(folder) != before


@pytest.mark.parametrize("with_settings", [True, False])
def test_a_folder_of_other_text_is_only_replaced_with_overwrite(
    tmp_path: Path, finished: Path, texts: Texts, parallel_text: Pairs, with_settings: bool
) -> None:
    """Older versions wrote no settings, but the manifest has the files."""
    folder = shutil.copytree(finished, tmp_path / "data")
    if not with_settings:
        (folder / "settings.json").unlink()
    other = write_pairs(tmp_path, "other", parallel_text[:12])
    with pytest.raises(DataError, match=r"another files \(train\.en train\.de, not other\.en other\.de\)"):
        prepared_from(folder, (other, texts[1]))
    (tmp_path / "copy").mkdir()
    same = write_texts(tmp_path / "copy", parallel_text)
    prepared_from(folder, same)  # a copy of the same text
    longer = write_pairs(tmp_path / "copy", "train", parallel_text[:17]), same[1]
    with pytest.raises(DataError, match=r"another bytes \(\d+ \d+, not \d+ \d+\)"):
        prepared_from(folder, longer)
    assert prepared_from(folder, longer, overwrite=True)["pairs_read"] == 17


def test_labels_must_fit(tmp_path: Path, texts: Texts) -> None:
    labels = tmp_path / "labels"

    def attempt(content: str, repeat: dict[str, int]) -> None:
        labels.write_text(content, encoding="utf-8")
        prepared_from(tmp_path / "data", texts, labels=labels, repeat=repeat)

    with pytest.raises(DataError, match="labels has 15 labels for 16 pairs"):
        attempt("a\n" * 15, {})
    with pytest.raises(DataError, match=r"no pair has the label c; the labels in .*labels are a, b"):
        attempt("a\nb\n" * 8, {"c": 2})
    with pytest.raises(DataError, match="--repeat has 0 for every label"):
        attempt("a\n" * 16, {"a": 0})
    with pytest.raises(DataError, match="--repeat must be from 0 to 255, found 300"):
        attempt("a\n" * 16, {"a": 300})
    with pytest.raises(DataError, match="there is no file of labels: give it with --labels"):
        prepared_from(tmp_path / "data", texts, repeat={"a": 2})


def test_command(tmp_path: Path, texts: Texts, parallel_text: Pairs, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "more.tsv"
    table.write_text("".join(f"{source}\t{target}\n" for source, target in parallel_text[:2]), encoding="utf-8")
    sides = [str(side[0]) for side in (texts[0].source, texts[0].target, texts[1].source, texts[1].target)]
    names = ("--source", "--target", "--valid-source", "--valid-target")
    flags = itertools.chain.from_iterable(zip(names, sides, strict=True))
    arguments = ["prepare", str(tmp_path / "data"), *flags, "--pairs", str(table), "--vocab-size", "400"]
    arguments.append("--no-duplicates")
    assert main(arguments) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["dropped"] == {"duplicate": 2}
    assert np.array_equal(TokenShards(tmp_path / "data" / "train").lengths().shape, (16, 2))
    fewer = [*arguments, "--max-words", "50"]
    assert main(fewer) == 1
    assert "max_words (none, not 50): give another folder, or --overwrite to replace it" in capsys.readouterr().err
    assert main([*fewer, "--overwrite"]) == 0
    assert json.loads((tmp_path / "data" / "settings.json").read_text())["max_words"] == 50
    capsys.readouterr()
    sampled = [*arguments, "--bpe-dropout", "0.1", "--overwrite"]
    assert main(sampled) == 0
    assert json.loads(capsys.readouterr().out)["train"]["pairs"] == 8 * 16
    assert main([*sampled, "--segmentations", "2"]) == 0
    assert json.loads(capsys.readouterr().out)["train"]["pairs"] == 2 * 16
    assert main([*arguments, "--segmentations", "2", "--overwrite"]) == 1
    assert "--segmentations (2) must be 1 without --bpe-dropout" in capsys.readouterr().err
    assert main([*arguments, "--capitals", "0.5", "--overwrite"]) == 0
    assert json.loads(capsys.readouterr().out)["train"]["pairs"] == 16 + 8
    assert main([*arguments, "--repeat", "news=often"]) == 1
    assert "--repeat expects LABEL=TIMES with a whole number, found news=often" in capsys.readouterr().err
