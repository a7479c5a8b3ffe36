"""A translator that searches with reduced precision."""

import copy
import math
from pathlib import Path

import pytest

from core.decoding import NonFiniteError
from core.inference.cpu_products import has_bfloat16, has_int8
from core.model import Transformer
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator

SENTENCE = "A dog runs through the green grass."


def test_fast_searches_with_reduced_products_and_explains_with_exact_ones(
    translator: Translator, tiny_model: Transformer, tokenizer: SentencePieceTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.inference.cpu_inference.choose", lambda seconds: list(seconds)[-1])
    fast = Translator(tiny_model, tokenizer, precision="fast")
    [searched] = fast.translate_batch([SENTENCE], beam_size=2)
    found = searched.hypotheses[0]
    exact = translator.score(SENTENCE, found.token_ids)
    assert found.token_log_probs == pytest.approx(exact.token_log_probs, abs=0.1)
    if has_int8() or has_bfloat16():
        assert found.token_log_probs != pytest.approx(exact.token_log_probs, abs=1e-5)
    for translation in (searched, fast.translate(SENTENCE, beam_size=2)):
        assert not translation.by_modules
    shown = translation.hypotheses[0]
    assert shown.token_log_probs == pytest.approx(translator.score(SENTENCE, shown.token_ids).token_log_probs, abs=1e-5)
    assert fast.score(SENTENCE, found.token_ids) == exact
    assert fast.explain(SENTENCE, found.token_ids).log_probs == translator.explain(SENTENCE, found.token_ids).log_probs


@pytest.mark.parametrize("number", [math.nan, 1e38])
@pytest.mark.parametrize("part", ["encoder.layers.0", "encoder.layers.1", "decoder.layers.0", "decoder.layers.1"])
def test_fast_is_an_error_too_where_anything_is_not_finite(
    tiny_model: Transformer,
    tokenizer: SentencePieceTokenizer,
    part: str,
    number: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """8-bit integers would turn NaN into finite numbers."""
    monkeypatch.setattr("core.inference.cpu_inference.choose", lambda seconds: list(seconds)[min(1, len(seconds) - 1)])
    broken = Translator(copy.deepcopy(tiny_model), tokenizer, precision="fast")
    broken.model.get_submodule(part).feed_forward_norm.weight.mul_(number)
    broken.model.get_submodule(part).feed_forward_norm.weight.mul_(number)
    for call in (lambda: broken.translate(SENTENCE), lambda: broken.translate_batch([SENTENCE, "A dog."])):
        with pytest.raises(NonFiniteError, match="not finite"):
            call()


def test_fast_is_exact_where_nothing_is_packed(
    translator: Translator, tiny_model: Transformer, tokenizer: SentencePieceTokenizer
) -> None:
    doubles = [
        Translator(copy.deepcopy(tiny_model).double(), tokenizer, precision=precision)
        for precision in ("exact", "fast")
    ]
    assert doubles[0].translate(SENTENCE, beam_size=2) == doubles[1].translate(SENTENCE, beam_size=2)


def test_a_precision_that_there_is_not(tiny_checkpoint: Path) -> None:
    with pytest.raises(ValueError, match="precision \\('int4'\\) must be one of exact, fast"):
        Translator.from_checkpoint(tiny_checkpoint, precision="int4")
