"""Translation with a model without causal mask."""

from pathlib import Path

import pytest
import torch

from core.text_codec import MAX_EXTRA_TOKENS
from core.translator import Translator

SENTENCE = "A dog runs through the green grass."
SENTENCES = [SENTENCE, "Where is the nearest station?", "Nobody knows."]


@pytest.fixture(scope="module")
def translator(mask_predict_checkpoint: Path) -> Translator:
    return Translator.from_checkpoint(mask_predict_checkpoint, "cpu")


def test_one_hypothesis_for_each_length_best_score_first(translator: Translator) -> None:
    translation = translator.translate(SENTENCE, beam_size=3)
    lengths = [len(hypothesis.token_ids) for hypothesis in translation.hypotheses]
    assert len(set(lengths)) == 3
    scores = [hypothesis.score for hypothesis in translation.hypotheses]
    assert scores == sorted(scores, reverse=True)
    for hypothesis in translation.hypotheses:
        assert hypothesis.finished
        assert not {0, 1, 2, 3} & {*hypothesis.token_ids[:-1]}
        assert 2 <= len(hypothesis.token_ids) <= len(translation.source_tokens) + MAX_EXTRA_TOKENS
    states = [state for step in translator.mask_predict(SENTENCE, length_candidates=3) for state in step]
    last = {state.candidate: state.token_ids for state in states}
    assert {hypothesis.token_ids for hypothesis in translation.hypotheses} == set(last.values())
    assert translator.translate(SENTENCE, 3, num_hypotheses=1).hypotheses == translation.hypotheses[:1]


def test_a_batch_is_translated_as_each_sentence(translator: Translator) -> None:
    found = translator.translate_batch(SENTENCES, beam_size=2, iterations=3)
    for sentence, translation in zip(SENTENCES, found, strict=True):
        (alone,) = translator.translate(sentence, beam_size=2, num_hypotheses=1, iterations=3).hypotheses
        assert translation.hypotheses[0].token_ids == alone.token_ids
        assert translation.hypotheses[0].score == pytest.approx(alone.score, abs=1e-5)


@torch.inference_mode()
def test_the_first_iteration_predicts_every_token_from_the_masked_target(translator: Translator) -> None:
    (first,), *_ = translator.mask_predict(SENTENCE, length_candidates=1)
    source = translator.batch([translator.token_ids(SENTENCE, [])[0]])
    logits = translator.model(source, torch.tensor([first.fed_ids]))[0]
    logits[:, [0, 1, 2, 3]] = -torch.inf
    assert logits.argmax(-1)[:-1].tolist() == [*first.token_ids[:-1]]
    log_probs = translator.model.length_logits(translator.model.encode(source), translator.model.source_mask(source))
    best = int(log_probs[0].argmax())
    assert first.length.tokens == source.size(1) + best - MAX_EXTRA_TOKENS
    assert first.length.log_prob == pytest.approx(float(log_probs[0].log_softmax(-1)[best]), abs=1e-5)


def test_what_predicts_one_token_after_the_other_is_refused(translator: Translator, tiny_checkpoint: Path) -> None:
    advice = r" does not apply to this model, which predicts all tokens at once \(mask-predict\): use an autoregressive"
    with pytest.raises(ValueError, match="^a search for one token after the other" + advice):
        translator.search(SENTENCE)
    with pytest.raises(ValueError, match="^scoring a given target" + advice):
        translator.score(SENTENCE, "Ein Hund.")
    with pytest.raises(ValueError, match="^a forced beginning" + advice):
        translator.translate(SENTENCE, prefix="Ein")
    with pytest.raises(ValueError, match=r"^this model predicts one token after the other and has no mask token"):
        Translator.from_checkpoint(tiny_checkpoint, "cpu").mask_predict(SENTENCE)
