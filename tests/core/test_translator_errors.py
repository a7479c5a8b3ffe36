"""Any text gets a result or an error that gives the reason."""

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest

from core.decoding import NonFiniteError
from core.decoding.limits import MAX_SOURCE_TOKENS, MAX_TARGET_TOKENS
from core.decoding.states import MAX_BEAM_SIZE
from core.files.budget import COMPUTATION
from core.formats.untrusted_parameters import meta_model
from core.model import Transformer
from core.model.config import TransformerConfig
from core.model.preset_configs import PRESETS
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator

SENTENCE = "A dog runs through the green grass."


@pytest.mark.parametrize(
    "text",
    [
        "🐕 läuft 👩‍👩‍👧‍👦",
        "הכלב רץ דרך העשב",
        "كلب يجري",
        "犬が草の中を走る。",
        "\x00\x01\x1b[31m\x7f",
        "\u200b",
        "a\u0301\u0323",
        "x" * 300,
        "�",
        "<s> </s> <pad>",
    ],
)
def test_any_text_gets_a_result(translator: Translator, text: str) -> None:
    assert len(translator.translate(text, beam_size=2).hypotheses) == 2
    assert len(translator.translate_text(text, beam_size=1).sentences) >= 1


def test_a_long_text_gets_a_result(translator: Translator) -> None:
    text = "\n\n".join(" ".join(["a", "b"] * 20) + ". C" for _ in range(50))  # 2,050 words
    assert not translator.codec.fits(text)
    translation = translator.translate_text(text, beam_size=1)
    assert len(translation.sentences) == 100
    assert translation.text.count("\n") >= 49


METHODS: list[Callable[[Translator, str], object]] = [
    lambda translator, text: translator.translate(text),
    lambda translator, text: translator.search(text),
    lambda translator, text: translator.translate_batch([SENTENCE, text]),
    lambda translator, text: translator.translate_text(text),
    lambda translator, text: translator.explain(text, ""),
]


@pytest.mark.parametrize("call", METHODS)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is nothing to translate: the text is empty or only white space"),
        (" \n\t\u00a0", "there is nothing to translate"),
        (
            "x" * 600,
            rf"the text has \d+ tokens, at most {MAX_SOURCE_TOKENS} can be translated at once: shorten or split it",
        ),
        ("half \ud83d", r"the text has a lone surrogate \('\\ud83d' at 5\), which cannot be encoded: remove it"),
    ],
)
def test_invalid_texts_are_refused_with_the_reason(
    translator: Translator, call: Callable[[Translator, str], object], text: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        call(translator, text)


def test_a_batch_names_the_sentence_that_it_refuses(translator: Translator) -> None:
    with pytest.raises(ValueError, match="sentence 2: there is nothing to translate"):
        translator.translate_batch([SENTENCE, " ", SENTENCE])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"beam_size": 0}, r"beam_size \(0\) must be an integer from 1 to 64"),
        ({"beam_size": 1000}, r"beam_size \(1000\) must be an integer from 1 to 64"),
        ({"length_penalty": 9}, r"length_penalty \(9\) must be a number from 0 to 5"),
        ({"num_hypotheses": 5}, r"num_hypotheses \(5\) must be an integer from 1 to beam_size \(4\)"),
    ],
)
def test_search_settings_out_of_range_are_refused(translator: Translator, values: dict[str, float], message: str):
    for method in (translator.translate, translator.search):
        with pytest.raises(ValueError, match=message):
            method(SENTENCE, **values)
    with pytest.raises(ValueError, match=message):
        translator.translate_batch([SENTENCE], **values)


def test_non_finite_outputs_are_an_error_everywhere(tiny_model: Transformer, tokenizer: SentencePieceTokenizer) -> None:
    """Instead of no hypothesis, or a page of NaN."""
    broken = Translator(copy.deepcopy(tiny_model), tokenizer)
    broken.model.decoder.layers[0].feed_forward.inner.weight[0, 0] = math.nan
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: broken.translate(SENTENCE), "at position 1"),
        (lambda: broken.translate(SENTENCE, beam_size=1), "at position 1"),
        (lambda: broken.translate_batch([SENTENCE, "A dog."]), "at position 1"),
        (lambda: broken.translate(SENTENCE, prefix="Ein"), "at position 1"),
        (lambda: list(broken.search(SENTENCE)), "at position 1"),
        (lambda: broken.score(SENTENCE, "Ein Hund."), "for this target"),
        (lambda: broken.explain(SENTENCE, "Ein Hund."), "for this target"),
    ]
    for call, where in calls:
        with pytest.raises(
            NonFiniteError,
            match=rf"^the model's outputs are not finite \(NaN or infinite\) {where}: .*; use another checkpoint$",
        ):
            call()


def heavy(tokenizer: SentencePieceTokenizer, **changes: Any) -> Translator:
    """A translator of a model of a few weights that has many heads."""
    shape = {"d_model": 4, "d_ff": 1, "num_heads": 256, "d_k": 1, "d_v": 1, "num_encoder_layers": 16}
    config = TransformerConfig(vocab_size=tokenizer.vocab_size, num_decoder_layers=16, **{**shape, **changes})
    return Translator(meta_model(config), tokenizer)


@pytest.mark.parametrize("call", METHODS)
def test_a_sentence_that_would_take_too_much_is_refused_before_it_is_computed(
    tokenizer: SentencePieceTokenizer, call: Callable[[Translator, str], object]
) -> None:
    """Each pair of tokens has 12,288 weights, of 256 heads in 48 layers. A model on `meta` could compute nothing."""
    translator = heavy(tokenizer)
    longest = translator.limits.fit(MAX_SOURCE_TOKENS)
    assert 4 * 12_288 * longest**2 < COMPUTATION < 4 * 12_288 * (1.1 * longest) ** 2
    with pytest.raises(ValueError, match=rf"the text has \d+ tokens, at most {longest} can be translated at once"):
        call(translator, "x" * 300)


def test_a_beam_that_would_take_too_much_is_refused_with_the_largest_that_fits(tokenizer: SentencePieceTokenizer):
    translator = heavy(tokenizer, d_k=64, d_v=64, num_encoder_layers=1)
    most = translator.limits.most_hypotheses(translator.limits.of_translation(translator.codec.source_ids(SENTENCE)))
    with pytest.raises(
        ValueError, match=rf"^64 hypotheses of \d+ tokens are more .*: reduce the beam size to {most}, or"
    ):
        translator.search(SENTENCE, beam_size=64)
    with pytest.raises(ValueError, match=rf"reduce the beam size to {most}, or shorten the text$"):
        translator.translate_batch([SENTENCE], beam_size=64)
    assert 1 < most < 64


def test_the_longest_sentences_and_widest_beams_fit_the_shipped_models(tokenizer: SentencePieceTokenizer) -> None:
    for preset in ("en-de", "en-de-draft", "multi30k", "parsing-small", "lines", "base", "big"):
        translator = Translator(meta_model(PRESETS[preset]), tokenizer)
        assert translator.limits.fit(10**9) > MAX_TARGET_TOKENS
        translator.limits.check_search(MAX_BEAM_SIZE, MAX_TARGET_TOKENS)
