import copy
import json
import math
import shutil
from pathlib import Path

import pytest
import sacrebleu
import torch

from core.formats.checkpoint import load_checkpoint
from core.model import Transformer
from core.results import ScoredText, Translation
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from tests.train.conftest import write_lines, write_pairs
from train.__main__ import main
from train.data.token_shards import DataError
from train.eval.translation_scores import TestSet, evaluate, perplexity

Pairs = list[tuple[str, str]]


class Parrot(Translator):
    """Returns the reference translations."""

    answers: dict[str, str]

    def translate_batch(self, texts: list[str], **_: object) -> list[Translation]:
        return [Translation(text, (), (ScoredText(self.answers[text], (5, 6, 2), (), (), 0.0),)) for text in texts]


@pytest.fixture
def parrot(tiny_model: Transformer, tokenizer: SentencePieceTokenizer) -> Parrot:
    return Parrot(tiny_model, tokenizer)


def files(folder: Path, pairs: Pairs) -> list[Path]:
    return write_pairs(folder, "dev", pairs).files


def test_correct_translations_score_100_and_what_perplexity_counts_is_printed(
    parrot: Parrot, parallel_text: Pairs
) -> None:
    parrot.answers = dict(parallel_text)
    score, hypotheses = evaluate(parrot, TestSet("dev", tuple(parallel_text)))
    assert hypotheses == [target for _, target in parallel_text]
    assert (score.bleu, score.chrf) == (pytest.approx(100), pytest.approx(100))
    assert (score.paper_bleu, score.lowercased_bleu) == (pytest.approx(100), pytest.approx(100))
    assert score.tokens_per_second == pytest.approx(3 * len(parallel_text) / score.seconds)
    assert score.sentences == len(parallel_text)
    assert "per piece, the </s> of each reference included, first pieces that are forced left out" in str(score)


def test_scores_are_sacrebleus_with_its_signatures(parrot: Parrot, parallel_text: Pairs) -> None:
    answers = [target.lower().replace("der", "die") for _, target in parallel_text]
    parrot.answers = dict(zip((source for source, _ in parallel_text), answers, strict=True))
    score, _ = evaluate(parrot, TestSet("dev", tuple(parallel_text)))
    references = [[target for _, target in parallel_text]]
    assert score.bleu == sacrebleu.corpus_bleu(answers, references).score
    assert score.chrf == sacrebleu.corpus_chrf(answers, references).score
    assert 0 < score.bleu < 100
    assert "case:mixed" in score.bleu_signature
    assert "tok:13a" in score.bleu_signature
    assert sacrebleu.__version__ in score.chrf_signature


def test_perplexity_is_that_of_one_sentence_at_a_time(
    parrot: Parrot, tokenizer: SentencePieceTokenizer, parallel_text: Pairs
) -> None:
    log_probs: list[float] = []
    for source, target in parallel_text:
        source_ids = torch.tensor([[*tokenizer.encode(source), tokenizer.eos_id]])
        target_ids = tokenizer.encode(target)
        logits = parrot.model(source_ids, torch.tensor([[tokenizer.bos_id, *target_ids]]))[0]
        predicted = torch.tensor([*target_ids, tokenizer.eos_id])
        log_probs += logits.log_softmax(-1).gather(1, predicted[:, None])[:, 0].tolist()
    assert perplexity(parrot, parallel_text) == pytest.approx(math.exp(-sum(log_probs) / len(log_probs)), rel=1e-5)


def test_the_perplexity_of_a_uniform_model_is_the_size_of_the_vocabulary(
    tiny_model: Transformer, tokenizer: SentencePieceTokenizer, parallel_text: Pairs
) -> None:
    model = copy.deepcopy(tiny_model)
    model.embedding.tokens.weight.zero_()
    assert perplexity(Translator(model, tokenizer), parallel_text) == pytest.approx(tokenizer.vocab_size, rel=1e-5)


def test_white_space_that_translation_removes_is_not_scored(parrot: Parrot, parallel_text: Pairs) -> None:
    pairs = parallel_text[:3]
    spaced = [(f" {source}", target.replace(" ", "\u00a0 ") + "\t") for source, target in pairs]
    parrot.answers = dict(pairs) | {source: target for (source, _), (_, target) in zip(spaced, pairs, strict=True)}
    expected, found = (evaluate(parrot, TestSet("dev", tuple(each)))[0] for each in (pairs, spaced))
    assert found.perplexity == pytest.approx(expected.perplexity, rel=1e-5)
    assert (found.bleu, found.chrf) == (expected.bleu, expected.chrf)


def test_a_reference_that_cannot_be_scored_is_refused_before_the_search(parrot: Parrot, parallel_text: Pairs) -> None:
    parrot.answers = {}  # a search would fail
    pairs = (parallel_text[0], ("Where?", "so " * 600))
    with pytest.raises(ValueError, match=r"sentence 2: the target has \d+ tokens, at most \d+ can be scored"):
        evaluate(parrot, TestSet("dev", pairs))


def test_texts_without_spaces_have_a_tokenizer_that_is_named(
    parrot: Parrot, tmp_path: Path, tiny_checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = [("I go to school.", "我今天去学校。"), ("The weather is good.", "今天天气很好。")]
    parrot.answers = dict(pairs)
    score, _ = evaluate(parrot, TestSet("dev", tuple(pairs)))
    for number in (score.bleu, score.chrf, score.paper_bleu, score.lowercased_bleu):
        assert number == pytest.approx(100)
    assert "tok:zh" in score.bleu_signature
    source, target = map(str, files(tmp_path, pairs))
    assert main(["evaluate", str(tiny_checkpoint), "--source", source, "--target", target, "--beam-size", "1"]) == 0
    printed = capsys.readouterr()
    assert "dev: BLEU has the tokenizer zh: 13a would look for words between spaces" in printed.err
    assert "|tok:zh|" in printed.out


def test_a_test_set_without_a_translation_for_every_sentence_is_refused(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "dev.en", ["one", "two", "three"])
    with pytest.raises(DataError, match="empty side in line 2"):
        TestSet.read(source, write_lines(tmp_path / "dev.de", ["eins", " ", "drei"]))
    with pytest.raises(DataError, match="not parallel: 3 lines but 2"):
        TestSet.read(source, write_lines(tmp_path / "dev.de", ["eins", "zwei"]))


def test_a_test_set_has_the_name_of_its_source_file(tmp_path: Path, parallel_text: Pairs) -> None:
    source, target = files(tmp_path, parallel_text)
    assert TestSet.read(source, target).name == "dev"
    assert TestSet.read(source, target, "valid").name == "valid"


def test_command(tmp_path: Path, tiny_checkpoint: Path, parallel_text: Pairs, capsys: pytest.CaptureFixture[str]):
    checkpoint = tmp_path / "tiny.safetensors"
    shutil.copy(tiny_checkpoint, checkpoint)
    source, target = map(str, files(tmp_path, parallel_text[:3]))
    texts = ["--source", source, source, "--target", target, target]
    arguments = ["evaluate", str(checkpoint), *texts, "--beam-size=2"]
    assert main([*arguments, "--name", "one", "two", "--json", "--record", "--write", str(tmp_path / "out")]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert [score["test_set"] for score in scores] == ["one", "two"]
    assert scores[0]["bleu"] == scores[1]["bleu"]
    assert scores[0]["beam_size"] == 2
    translator = Translator.from_checkpoint(checkpoint)
    assert translator.training["scores"] == scores
    expected = [translator.translate(text, beam_size=2, length_penalty=0.6).text for text, _ in parallel_text[:3]]
    assert (tmp_path / "out" / "two.txt").read_text(encoding="utf-8").split("\n") == [*expected, ""]

    assert main([*arguments, "--name", "one", "two", "--precision", "fast"]) == 0
    assert "BLEU" in capsys.readouterr().out
    assert main([*arguments, "--name", "one", "two", "--precision", "fast", "--record"]) == 1
    assert "--record with --precision fast: a checkpoint records scores of the exact model" in capsys.readouterr().err

    assert main(arguments) == 1
    assert "two test sets have the same name" in capsys.readouterr().err
    assert main([*arguments, "--name", "one"]) == 1
    assert "2 source files, 2 target files and 1 names" in capsys.readouterr().err
    assert main(["evaluate", str(tmp_path / "none"), "--source", source, "--target", target]) == 1
    assert "none" in capsys.readouterr().err
    assert load_checkpoint(checkpoint).training["scores"] == scores
