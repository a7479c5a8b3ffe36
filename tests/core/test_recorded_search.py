"""A recorded search explains its hypotheses as a replay does."""

import copy
from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from core import recorded_search
from core.analysis.heads.gating import gated
from core.analysis.heads.head import Head
from core.capture import capture_attention
from core.config import TransformerConfig
from core.model import Transformer
from core.native import library
from core.preset_configs import PRESETS
from core.results import Explanation
from core.shared_model import RECORDED_SEARCHES
from core.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from tests.fixtures import fit_end

SENTENCE = "A dog runs through the green grass."

pytestmark = pytest.mark.skipif(library.library() is None, reason="decoder_step.cpp is not compiled for this processor")


@pytest.fixture
def translator(tiny_model: Transformer, tokenizer: SentencePieceTokenizer) -> Translator:
    return Translator(copy.deepcopy(tiny_model), tokenizer)  # one test changes its weights


@pytest.fixture
def replays(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One entry for each replay of the translator."""
    calls: list[object] = []
    replayed = translator._shared._replayed_pass
    monkeypatch.setattr(translator._shared, "_replayed_pass", lambda *ids: calls.append(ids) or replayed(*ids))
    return calls


def longest(translator: Translator) -> tuple[int, ...]:
    """Token ids of the longest hypothesis."""
    return max((h.token_ids for h in translator.translate(SENTENCE).hypotheses if h.finished), key=len)


def weights(explanation: Explanation) -> list[torch.Tensor]:
    return [layer.weights for layers in explanation.maps.values() for layer in layers]


def assert_same(found: Explanation, expected: Explanation) -> None:
    """The same to rounding; alternatives that are as probable to rounding may change places."""
    assert found.target == expected.target
    assert found.log_probs == pytest.approx(expected.log_probs, abs=1e-4)
    for ours, theirs in zip(found.alternatives, expected.alternatives, strict=True):
        assert [value for _, value in ours] == pytest.approx([value for _, value in theirs], abs=1e-4)
        if min(above - below for (_, above), (_, below) in pairwise(theirs)) > 1e-3:
            assert [token for token, _ in ours[:-1]] == [token for token, _ in theirs[:-1]]
    assert found.maps.keys() == expected.maps.keys()
    for kind, layers in expected.maps.items():
        for ours, theirs in zip(found.maps[kind], layers, strict=True):
            assert (ours.layer, ours.query_tokens, ours.key_tokens, ours.predicted_tokens) == (
                theirs.layer,
                theirs.query_tokens,
                theirs.key_tokens,
                theirs.predicted_tokens,
            )
            torch.testing.assert_close(ours.weights, theirs.weights, atol=1e-5, rtol=0)
            assert (ours.weights[:, ~ours.visible] == 0).all()


@pytest.mark.parametrize("beam_size", [2, 4])
def test_all_hypotheses_are_explained_as_by_a_replay(
    translator: Translator, replays: list[object], beam_size: int
) -> None:
    other = Translator(translator.model, translator.tokenizer)  # has searched nothing
    hypotheses = [h for h in translator.translate(SENTENCE, beam_size).hypotheses if h.finished]
    assert hypotheses
    for hypothesis in hypotheses:
        assert_same(translator.explain(SENTENCE, hypothesis.token_ids), other.explain(SENTENCE, hypothesis.token_ids))
    assert not replays


def test_a_search_that_drops_keys(tiny_model: Transformer, tokenizer: SentencePieceTokenizer) -> None:
    """A long search, whose caches have no room for the keys of all hypotheses."""
    translator, text = Translator(tiny_model, tokenizer), SENTENCE + SENTENCE
    for hypothesis in translator.translate(text).hypotheses:
        prefix = hypothesis.token_ids[:40]
        fed, predicted = [translator.model.config.bos_id, *prefix[:-1]], list(prefix)
        (record,) = translator._shared._records.values()
        kept = record.decoder_pass(fed, predicted, 5)
        replayed = translator._shared._replayed_pass(translator._source_ids(text), fed, predicted, 5)
        assert kept
        assert kept.log_probs == pytest.approx(replayed.log_probs, abs=1e-4)
        for path, expected in replayed.weights.items():
            torch.testing.assert_close(kept.weights[path], expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("config", [
    replace(PRESETS["tiny"], d_k=6, d_v=10, num_decoder_heads=3),
    replace(PRESETS["tiny"], num_heads=1, num_encoder_layers=1, positions="learned"),
    replace(PRESETS["tiny"], neighbourhood=3),
])  # fmt: skip
def test_every_shape_of_model(config: TransformerConfig, tokenizer: SentencePieceTokenizer) -> None:
    torch.manual_seed(1)
    model = Transformer(replace(config, vocab_size=tokenizer.vocab_size)).eval().requires_grad_(False)
    fit_end(model)
    translator, other = Translator(model, tokenizer), Translator(model, tokenizer)
    for hypothesis in translator.translate("A dog", 3).hypotheses:
        assert_same(translator.explain("A dog", hypothesis.token_ids), other.explain("A dog", hypothesis.token_ids))


def test_a_target_that_was_not_searched_is_replayed(translator: Translator, replays: list[object]) -> None:
    translator.translate(SENTENCE)
    translator.explain(SENTENCE, "Eine Katze.")
    translator.explain("A cat.", "Eine Katze.")
    assert len(replays) == 2


def test_more_alternatives_than_are_kept_are_replayed(translator: Translator, replays: list[object]) -> None:
    target = longest(translator)
    assert len(translator.explain(SENTENCE, target, recorded_search.NUM_BEST).alternatives[0]) == 10
    assert not replays
    assert len(translator.explain(SENTENCE, target, 11).alternatives[0]) == 11
    assert len(replays) == 1


def test_a_changed_model_is_replayed(translator: Translator, replays: list[object]) -> None:
    target = longest(translator)
    with torch.no_grad():
        translator.model.embedding.tokens.weight *= 2
    other = Translator(translator.model, translator.tokenizer)
    assert_same(translator.explain(SENTENCE, target), other.explain(SENTENCE, target))
    assert len(replays) == 1


def test_a_hooked_model_is_replayed(translator: Translator, replays: list[object]) -> None:
    target = longest(translator)
    with gated(translator, {Head("cross", 1, 0): 0.5}):
        translator.explain(SENTENCE, target)
    handle = translator.model.encoder.register_forward_hook(lambda *_: None)
    try:
        translator.explain(SENTENCE, target)
    finally:
        handle.remove()
    assert len(replays) == 2
    translator.explain(SENTENCE, target)
    assert len(replays) == 2


def test_a_hook_set_during_the_search(translator: Translator, replays: list[object]) -> None:
    target = longest(translator)
    assert len(target) > 2
    states = translator.search(SENTENCE)
    next(states)
    with translator.inspect() as model, capture_attention(model):
        next(states)
        translator.next_logits([[5, 2]])  # the encoder, so that every layer is captured
    assert list(states)
    translator.explain(SENTENCE, target)
    assert len(replays) == 1


def test_only_the_last_searches_are_kept(translator: Translator, replays: list[object]) -> None:
    target = longest(translator)
    for number in range(RECORDED_SEARCHES - 1):
        translator.translate(f"A dog {number}", 1)
    translator.explain(SENTENCE, target)
    assert not replays
    translator.translate("A cat", 1)
    translator.explain(SENTENCE, target)
    assert len(replays) == 1


@pytest.mark.parametrize("limit", [0, 3_000])
def test_a_large_search_is_not_kept(
    translator: Translator, replays: list[object], monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(recorded_search, "MOST_BYTES", limit)
    translator.explain(SENTENCE, longest(translator))
    assert len(replays) == 1


def test_a_search_in_reduced_precision_is_explained_exactly(
    tiny_model: Transformer, tokenizer: SentencePieceTokenizer
) -> None:
    fast, exact = (Translator(tiny_model, tokenizer, precision=precision) for precision in ("fast", "exact"))
    hypothesis = fast.translate(SENTENCE).hypotheses[0]
    found, expected = (each.explain(SENTENCE, hypothesis.token_ids) for each in (fast, exact))
    assert found.log_probs == expected.log_probs
    assert all(torch.equal(*maps) for maps in zip(weights(found), weights(expected), strict=True))
