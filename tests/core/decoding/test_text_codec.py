"""The tokens of a text itself, between those that a model takes with every text."""

import json
from typing import Any

import pytest

from core.analysis.attribution.contrast import Contrast, contrast_at, runner_up
from core.analysis.attribution.faithfulness import sample_curves
from core.model.config import TransformerConfig
from core.text.byte_pieces import is_special
from core.text.dictionary_tokenizer import SETTINGS, SOURCE_DICTIONARY, DictionaryTokenizer, dictionary_file
from core.text.piece_splitting import SENTENCEPIECE
from core.text.tokenizer import SPACE_MARK, SentencePieceTokenizer
from core.translator import Translator
from tests.core.tiny_models import tiny

LANGUAGES = {"en": "eng_Latn", "de": "deu_Latn"}
GIVEN: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "nothing": ({}, {}, ""),
    "ids": ({}, {"source_prefix": (9, 8), "source_suffix": (7,)}, ""),
    "no end": ({}, {"source_end": False}, ""),
    "a task": ({"prefixes": {"de": "Make German of: ", "fr": "Make "}}, {}, ""),
    "a shorter task": ({"prefixes": {"de": "Make German of: ", "fr": "Make "}}, {}, ">>fr<< "),
    "a task without a space": ({"prefixes": {"de": "German:"}}, {}, ""),
    "languages": ({"languages": LANGUAGES, "source_language": "en"}, {}, ""),
    "another language": ({"languages": LANGUAGES, "source_language": "en"}, {}, ">>en<< "),
}


def translator_with(tokenizer: SentencePieceTokenizer, settings: dict[str, Any], changes: dict[str, Any]) -> Translator:
    pieces = [*map(tokenizer.piece, range(tokenizer.vocab_size - 2)), *LANGUAGES.values()]
    files = {
        SETTINGS: json.dumps({"target_language": "de", **settings}).encode(),
        SENTENCEPIECE: tokenizer.to_bytes(),
        SOURCE_DICTIONARY: dictionary_file(pieces),
    }
    model = tiny(vocab_size=len(pieces), max_positions=TransformerConfig(vocab_size=4).max_positions, **changes)
    return Translator(model, DictionaryTokenizer(files, tokenizer.bos_id))


@pytest.mark.parametrize(("settings", "changes", "code"), GIVEN.values(), ids=GIVEN)
def test_the_tokens_of_the_text_itself(
    settings: dict[str, Any], changes: dict[str, Any], code: str, tokenizer: SentencePieceTokenizer
) -> None:
    translator, text = translator_with(tokenizer, settings, changes), "A dog runs."
    tokens = translator.codec.source_pieces(translator.codec.source_ids(code + text))
    of_text = [token for token in tokens if not is_special(token)]
    assert "".join(of_text).replace(SPACE_MARK, " ").strip() == text
    assert len(of_text) < len(tokens) or translator.config.source_end is False


@pytest.mark.parametrize(("settings", "changes", "code"), GIVEN.values(), ids=GIVEN)
def test_only_tokens_of_the_sentence_and_its_translation_are_deleted(
    settings: dict[str, Any],
    changes: dict[str, Any],
    code: str,
    tokenizer: SentencePieceTokenizer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither is a forced first token explained."""
    translator, text, target = translator_with(tokenizer, settings, changes), f"{code}A dog runs.", "Ein Hund."
    contrast = contrast_at(translator, text, target, len(translator.codec.target_ids(target, text)))
    spelled = "".join(contrast.tokens[index] for index in contrast.ordinary).replace(SPACE_MARK, " ").strip()
    assert spelled == "A dog runs. Ein Hund."
    monkeypatch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 3 - len(contrast.source_ids))
    explained: list[int] = []

    def record(of: Contrast) -> int:
        explained.append(of.position)
        return runner_up(of)

    monkeypatch.setattr("core.analysis.attribution.faithfulness.runner_up", record)
    monkeypatch.setattr("core.analysis.attribution.faithfulness.deletion_curves", lambda *_, **__: {})
    for seed in range(12):
        list(sample_curves(translator, [text], methods=["attention"], seed=seed))
    assert set(explained) == set(range("languages" in settings, 3))


def test_the_mean_log_probability_is_that_of_predicted_tokens(tokenizer: SentencePieceTokenizer) -> None:
    for settings, changes in (({}, {}), ({"languages": LANGUAGES, "source_language": "en"}, {})):
        translator = translator_with(tokenizer, settings, changes)
        scored = translator.score("A dog runs.", "Ein Hund.")
        forced = len(settings) // 2
        assert translator.codec.num_forced(scored.token_ids, "A dog runs.") == forced
        assert scored.token_log_probs[:forced] == (0.0,) * forced
        mean = translator.codec.mean_log_prob(scored, "A dog runs.")
        assert mean == pytest.approx(scored.log_prob / (len(scored.tokens) - forced))
