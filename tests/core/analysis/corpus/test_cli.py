import hashlib
from pathlib import Path

import pytest

from core.analysis.corpus import cli
from core.analysis.corpus.behaviours import BEHAVIOURS, ranked
from core.analysis.corpus.collection import CorpusPass
from core.analysis.corpus.index_file import load_index
from core.cli.commands import main


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    path = tmp_path / "sentences.tsv"
    path.write_text("A dog runs.\tEin Hund.\n\nWhere is it?\tWo?\nA dog runs.\tEin Hund.\n", "utf-8")
    return path


def command(checkpoint: Path, sentences: Path, *more: str) -> int:
    return main(["corpus", "--checkpoint", str(checkpoint), "--input", str(sentences), *more])


def test_an_index_of_given_translations_and_one_of_its_sentences(
    tiny_checkpoint: Path,
    sentences: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 4)
    gold = [tmp_path / name for name in ("source", "target", "links")]
    for path, text in zip(gold, ("A dog runs", "Ein Hund", "0-0 1-1"), strict=True):
        path.write_text(text, "utf-8")
    output = tmp_path / "first.corpus.npz"
    options = ["-o", str(output), "--name", "Two sentences", "--licence", "CC0", "--gold", *map(str, gold)]
    assert command(tiny_checkpoint, sentences, *options) == 0
    printed = capsys.readouterr().out
    assert "2 sentences, 1 lines left out (repeated or too long)" in printed
    index = load_index(output)
    facts, digest = index.facts, hashlib.sha256(tiny_checkpoint.read_bytes()).hexdigest()
    assert (facts.checkpoint, facts.digest, facts.translations) == (tiny_checkpoint.name, digest, "given")
    assert (facts.corpus, facts.licence, facts.num_sentences) == ("Two sentences", "CC0", 2)
    assert [(each.line, each.source) for each in index.sentences] == [(1, "A dog runs."), (3, "Where is it?")]
    card, score = ranked(index, "gold")[0]
    assert score == 1 - card.alignment_error_rate
    assert f"agrees with gold links            {card.head} {score:.2f}" in printed
    again = tmp_path / "again.corpus.npz"
    assert command(tiny_checkpoint, output, "-o", str(again), "--beam-size", "2") == 0
    found = load_index(again).facts
    assert (found.corpus, found.licence, found.translations) == ("Two sentences", "CC0", "2")
    assert "agrees with gold links            not measured" in capsys.readouterr().out


def test_interrupted_it_writes_what_it_has(
    tiny_checkpoint: Path,
    sentences: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    read = CorpusPass.steps

    def interrupted(self: CorpusPass):
        yield next(read(self))
        raise KeyboardInterrupt

    monkeypatch.setattr("core.analysis.corpus.collection.BATCH_SIZE", 1)
    monkeypatch.setattr(CorpusPass, "steps", interrupted)
    monkeypatch.setattr(cli, "CorpusPass", lambda *arguments: CorpusPass(*arguments, batch_size=1))
    output = tmp_path / "index.corpus.npz"
    assert command(tiny_checkpoint, sentences, "-o", str(output)) == 130
    assert "1 sentences of 2, stopped" in capsys.readouterr().out
    assert load_index(output).facts.num_sentences == 1


@pytest.mark.parametrize(
    ("options", "message"), [(["-o", "nowhere/index"], "there is no folder nowhere; create it, or give another path")]
)
def test_what_is_wrong_is_named(
    tiny_checkpoint: Path, sentences: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
):
    assert command(tiny_checkpoint, sentences, *options) == 1
    assert message in capsys.readouterr().err


def test_sentences_that_cannot_be_read_are_named(
    tiny_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "sentences.txt"
    path.write_bytes(b"\xff")
    assert command(tiny_checkpoint, path) == 1
    assert "sentences.txt is not UTF-8 text: byte 0xff in line 1; convert it to UTF-8" in capsys.readouterr().err
    path = tmp_path / "x.corpus.npz"
    path.write_bytes(b"x")
    assert command(tiny_checkpoint, path) == 1
    assert "x.corpus.npz is not a corpus index, or is damaged" in capsys.readouterr().err


def test_every_behaviour_is_ranked_over_the_heads_that_have_it(index):
    for name, behaviour in BEHAVIOURS.items():
        found = ranked(index, name)
        assert {card.head.kind for card, _ in found} == (set() if name == "gold" else set(behaviour.kinds))
        assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
        assert all(card.head.kind == "cross" for card, _ in ranked(index, name, ["cross"]))
