"""A sentence at every snapshot of a run."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from core import Translator
from core.analysis.heads.corpus_maps import batch_maps
from core.analysis.heads.scorer import score_cards
from core.analysis.lens.logit_lens import logit_lens
from core.analysis.over_training.history import open_history
from core.analysis.over_training.snapshot_reading import SnapshotReading, cards_on, read_snapshot
from core.model import Transformer
from core.model.preset_configs import PRESETS
from core.text.tokenizer import SentencePieceTokenizer
from tests.core.analysis.conftest import random_translator

SOURCE = "A dog runs through the green grass."


@pytest.fixture(scope="module")
def readings(run_history: Path) -> list[SnapshotReading]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 4)
        history = open_history(run_history)
        target = history.translator(300).translate(SOURCE, 2).hypotheses[0].token_ids
        return [read_snapshot(translator, step, SOURCE, target, 2) for step, translator in history]


@pytest.mark.usefixtures("short_translations")
def test_the_last_snapshot_is_the_checkpoint(run_history: Path, readings: list[SnapshotReading]) -> None:
    own = Translator.from_checkpoint(run_history / "history" / "step-00000300.safetensors")
    translation, last = own.translate(SOURCE, 2), readings[-1]
    explanation = own.explain(SOURCE, translation.hypotheses[0].token_ids)
    assert (last.step, last.translation.token_ids) == (300, translation.hypotheses[0].token_ids)
    assert last.translation.score == pytest.approx(translation.hypotheses[0].score, abs=1e-5)
    assert last.log_prob == pytest.approx(sum(explanation.log_probs), abs=1e-4)
    for kind, maps in explanation.maps.items():
        for mine, found in zip(maps, last.explanation.maps[kind], strict=True):
            assert torch.allclose(mine.weights, found.weights, atol=1e-5)
    for mine, found in zip(score_cards([last.explanation.maps]), last.cards, strict=True):
        assert repr(replace(found, agreement=math.nan)) == repr(mine)
    lens = logit_lens(own, SOURCE, translation.hypotheses[0].token_ids)
    means = lens.predicted_log_probs.mean(1).exp().tolist()
    assert last.level_probabilities == pytest.approx(means, rel=1e-4)


def test_a_forced_first_token_is_no_prediction(tokenizer: SentencePieceTokenizer) -> None:
    translator = random_translator(tokenizer, forced_first_id=9)
    target = translator.codec.target_ids("Ein Hund.", SOURCE)
    reading = SnapshotReading(0, translator.score(SOURCE, target), logit_lens(translator, SOURCE, target), ())
    assert reading.level_probabilities[-1] == pytest.approx(math.exp(reading.log_prob / len(target)), rel=1e-4)


def test_all_snapshots_have_the_same_axes(readings: list[SnapshotReading]) -> None:
    first = readings[0].explanation
    for each in readings[1:]:
        for kind, maps in each.explanation.maps.items():
            for one, other in zip(first.maps[kind], maps, strict=True):
                assert (one.query_tokens, one.key_tokens) == (other.query_tokens, other.key_tokens)
        assert not torch.equal(first.maps["cross"][0].weights, each.explanation.maps["cross"][0].weights)


def test_each_snapshot_scores_the_target_of_the_last(run_history: Path, readings: list[SnapshotReading]) -> None:
    history, target = open_history(run_history), list(readings[-1].translation.token_ids)
    whole = target if target[-1] == history.config.eos_id else [*target, history.config.eos_id]
    for each in readings:
        own = history.translator(each.step).score(SOURCE, whole)
        assert each.log_prob == pytest.approx(own.log_prob, abs=1e-3)


def test_cards_on_a_sample_are_those_of_its_maps(history_file: Path) -> None:
    translator = open_history(history_file).translator(100)
    pairs = [(f"{'a ' * count}dog", [5, 6, 7][: 1 + count % 3]) for count in range(9)]
    expected = score_cards(batch_maps(translator, pairs))
    for mine, found in zip(cards_on(translator, pairs), expected, strict=True):
        assert mine.entropy == pytest.approx(found.entropy, rel=1e-5)
        assert math.isnan(mine.agreement) == (mine.head.kind != "cross")


def test_attention_is_nearly_uniform_before_training(tokenizer: SentencePieceTokenizer) -> None:
    """Xavier's initialisation and LayerNorm give scores of cross-attention variance 1 at most.

    A score is q k / sqrt(d_k), with q = W_Q x and k = W_K y. Elements of square Xavier matrices have variance 1 / D,
    and |x|^2 = |y|^2 = D after LayerNorm: the variance of the score is (|x|^2 / D) (|y|^2 / D) = 1. What the keys have
    in common shifts a whole row, which softmax ignores. For Gaussian scores of variance s^2 and many keys,
    log sum exp = log K + s^2 / 2 and the mean score under the weights is s^2, so the entropy is log K - s^2 / 2.
    """
    gaps: list[float] = []
    for seed in range(4):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            config = replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size, d_model=128, d_k=None, d_v=None)
            translator = Translator(Transformer(config).requires_grad_(False), tokenizer)
        for maps in batch_maps(translator, [(SOURCE * 2, list(range(5, 25)))]):
            for layer in maps["cross"]:
                entropy = -(layer.weights * layer.weights.clamp_min(1e-30).log()).sum(-1)
                gaps += (math.log(len(layer.key_tokens)) - entropy).flatten().tolist()
    assert 0 < sum(gaps) / len(gaps) < 0.5 + 0.05
