import math

import pytest

from core import Translator
from core.analysis.unfamiliar_source import MARGIN, MIN_WORDS, PROBABLE, SourceFamiliarity, source_familiarity
from core.results import Translation
from core.text.tokenizer import SentencePieceTokenizer
from tests.core.analysis.conftest import random_translator

pytestmark = pytest.mark.usefixtures("short_translations")


def found(translator: Translator, text: str) -> SourceFamiliarity:
    return source_familiarity(translator, translator.translate(text, beam_size=1))


def test_the_margin_is_the_mean_log_probability_above_that_of_the_source(translator: Translator):
    text = "A dog  is reading a book."
    translation = translator.translate(text, beam_size=2)
    best = translation.hypotheses[0]
    copied = translator.explain(text, " ".join(text.split()))
    expected = best.log_prob / len(best.tokens) - sum(copied.log_probs) / len(copied.log_probs)
    assert source_familiarity(translator, translation).margin == pytest.approx(expected, abs=1e-4)


def test_a_forced_first_token_is_no_prediction(tokenizer: SentencePieceTokenizer):
    translator, text = random_translator(tokenizer, forced_first_id=9), "A dog is reading."
    translation = translator.translate(text, beam_size=2)
    copied = translator.score(text, text)
    best, copy = (each.log_prob / (len(each.tokens) - 1) for each in (translation.hypotheses[0], copied))
    found = source_familiarity(translator, translation)
    assert (found.margin, found.log_prob) == pytest.approx((best - copy, copy), abs=1e-4)


def test_a_translation_that_is_the_source_has_no_margin(translator: Translator):
    text = "A dog is reading."
    copy = translator.score(text, text)
    translation = Translation(text, translator.translate(text, beam_size=1).source_tokens, (copy,))
    assert source_familiarity(translator, translation).margin == pytest.approx(0, abs=1e-5)
    assert source_familiarity(translator, translation).log_prob == pytest.approx(copy.log_prob / len(copy.tokens))


@pytest.mark.parametrize("text", ["Berlin", "Anna Karenina.", "? ! . ,"])
def test_short_sources_are_not_judged_by_their_margin(translator: Translator, text: str):
    assert len(text.split()) < MIN_WORDS or not text.isalnum()
    assert math.isinf(found(translator, text).margin)
    assert not found(translator, text).is_copied


def test_unknown_characters_are_counted_as_characters_and_not_as_bytes(translator: Translator):
    for known, unknown, text in ((0, 2, "\U0001f600 \U0001f436"), (4, 1, "dog. \U0001f436"), (3, 0, "A. b")):
        share = found(translator, text).unknown_share
        assert share == pytest.approx(unknown / (known + unknown))
        assert found(translator, text).is_unknown == (unknown > known)


def test_the_thresholds_separate_the_signs():
    assert SourceFamiliarity(0.0, MARGIN - 0.01, PROBABLE + 0.01).is_copied
    assert not SourceFamiliarity(0.5, MARGIN, PROBABLE + 0.01).is_copied
    assert not SourceFamiliarity(0.5, MARGIN - 0.01, PROBABLE).is_copied  # neither is probable: the model is untrained
    assert not SourceFamiliarity(0.5, MARGIN, 0.0).is_unknown
    assert SourceFamiliarity(0.51, MARGIN, 0.0).is_unknown


def test_an_untrained_model_copies_nothing(translator: Translator, parallel_text: list[tuple[str, str]]):
    assert not any(found(translator, source).is_copied for source, _ in parallel_text[:3])
