import math
from collections import defaultdict
from pathlib import Path

import pytest

from core import Translator
from core.analysis.corpus.index_file import load_index
from core.analysis.unfamiliar_source import (
    FEWEST_SENTENCES,
    LETTERS,
    MARGIN,
    MIN_WORDS,
    PROBABLE,
    SourceFamiliarity,
    SourceLanguage,
    SpelledWords,
    source_familiarity,
    without_capitals,
    words_but_names,
)
from core.formats.checkpoint import load_checkpoint
from core.results import Translation
from core.text.tokenizer import SentencePieceTokenizer
from tests.core.analysis.conftest import random_translator

pytestmark = pytest.mark.usefixtures("short_translations")


CHECKPOINTS = Path(__file__).parents[3] / "checkpoints"
SENTENCES = defaultdict[str, list[str]](list)  # English ones with names, and those of seven other languages
for line in Path(__file__).with_name("source_languages.tsv").read_text(encoding="utf-8").splitlines():
    SENTENCES[line.partition("\t")[0]].append(line.partition("\t")[2])


@pytest.mark.parametrize("name", ["en-de", "en-fr"])
def test_names_are_no_other_language_and_seven_others_are(name: str):
    decode = load_checkpoint(CHECKPOINTS / f"{name}.safetensors").tokenizer.target.decode
    index = load_index(CHECKPOINTS / f"{name}.corpus.npz").sentences
    language = SourceLanguage([each.source for each in index], [decode(list(each.target)) for each in index])
    assert [text for text in SENTENCES["names"] if language.is_other(text)] == []
    assert not language.is_other("MARIE CURIE, 1903!")  # no word but names
    others = [text for name, texts in SENTENCES.items() if name != "names" for text in texts]
    assert len(SENTENCES) == 8
    assert sum(map(language.is_other, others)) >= 0.95 * len(others)


def test_the_letters_of_words_have_a_distribution():
    words = ["sea", "sees", "ease", "as", "sea"]
    model, letters = SpelledWords(words), sorted({*"".join(words), ">"})
    for context in ("<<<", "<se", "zzz", "ase"):
        seen = sum(model.probability(context, letter) for letter in letters)
        assert seen + (LETTERS - len(letters)) * model.probability(context, "q") == pytest.approx(1)
    assert model.strangeness(["sea", "as"]) == pytest.approx(-(model.log_prob("sea") + model.log_prob("as")) / 7)
    assert model.strangeness(["sea"]) < model.strangeness(["esa"]) < model.strangeness(["xyz"])
    assert model.strangeness([]) == 0


def test_only_words_without_a_capital_are_judged():
    words = words_but_names("Dr. Ana didn't see 3 \u72d7 in Rome, it's true")
    assert words == ["didn't", "see", "\u72d7", "in", "it's", "true"]
    with pytest.raises(ValueError, match=f"3 sentences say too little of their language: give {FEWEST_SENTENCES}"):
        SourceLanguage(["a b"] * 3, ["c"] * 3)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("TWO MEN ARE SITTING.", "Two men are sitting."),
        ("BREAKING NEWS: Two men ARE HERE", "Breaking news: two men are here"),
        ("NASA AND ESA", "Nasa and esa"),
        ("The NASA and the ESA met.", ""),
        ("NATO", ""),
        ("A. B. C. D.", ""),
        ("\u4eca\u5929\u5f88\u597d", ""),
    ],
)
def test_capitals_are_put_in_lower_case(text: str, plain: str):
    assert without_capitals(text) == plain


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
