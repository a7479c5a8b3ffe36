"""Any text gets a result or an error that gives the reason."""

import copy
import math
from collections.abc import Callable

import pytest

from core.decoding import NonFiniteError
from core.model import Transformer
from core.text_codec import MAX_SOURCE_TOKENS
from core.tokenizer import SentencePieceTokenizer
from core.translator import Translator

SENTENCE = "A dog runs through the green grass."


@pytest.fixture(scope="module")
def translator(tiny_model: Transformer, tokenizer: SentencePieceTokenizer) -> Translator:
    return Translator(tiny_model, tokenizer)


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
    text = "\n".join(" ".join(["a", "b"] * 20) + ". C" for _ in range(50))  # 2,050 words
    assert not translator.fits(text)
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
def test_search_settings_out_of_range_are_refused(
    translator: Translator, values: dict[str, float], message: str
) -> None:
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
