"""Source words that are left out, beside a loop that scores every shortened sentence."""

import itertools
import math
from statistics import fmean

import pytest

from core.analysis.signs import left_out as module
from core.analysis.signs.left_out import is_content, left_out, left_out_sign, span_values, spans
from core.model import Transformer
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from tests.core.analysis.signs.test_pair_signs import log_probs_of

SOURCE = ("\u2581They", "\u2581live", "\u2581in", "\u2581Mos", "cow", ".", "</s>")
TEXT, TARGET = "A brown dog runs across the grass.", "Ein Hund rennt."


@pytest.fixture
def translator(tiny_model: Transformer, tokenizer: SentencePieceTokenizer) -> Translator:
    return Translator(tiny_model, tokenizer)


def test_spans_are_up_to_three_words_with_a_content_word() -> None:
    # live and in are short, They is first; only Moscow has content
    assert spans(SOURCE) == [range(3, 5), range(2, 5), range(3, 6), range(1, 5), range(2, 6)]


def test_something_is_left_of_the_source() -> None:
    assert spans(("\u2581Mos", "cow", "</s>")) == []
    assert spans(("</s>",)) == []
    assert spans(("\u2581old", "\u2581Moscow", "</s>")) == [range(1, 2)]


@pytest.mark.parametrize("forced", [0, 1])  # a forced token is no prediction
def test_values_are_those_of_shortened_sentences(forced: int, translator: Translator, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(translator.codec, "num_forced", lambda *_: forced)
    ids = translator.codec.scored_ids(TEXT, TARGET)
    whole = fmean(log_probs_of(translator, ids.source, ids.predicted)[forced:])
    found = dict(span_values(translator, TEXT, TARGET))
    assert set(found) == set(spans(translator.codec.source_pieces(ids.source)))
    for span, value in itertools.islice(found.items(), 6):
        rest = [token for place, token in enumerate(ids.source) if place not in span]
        without = fmean(log_probs_of(translator, rest, ids.predicted)[forced:])
        assert value == pytest.approx(without - whole, abs=1e-4)
    sign = left_out(translator, TEXT, TARGET)
    assert sign.value == pytest.approx(max(found.values()))
    assert {each.word[0] for each in sign.words} == {"source"}


def test_the_best_spans_that_do_not_overlap_are_marked() -> None:
    values = [(range(3, 5), 0.5), (range(2, 5), 0.9), (range(1, 2), 0.2), (range(1, 5), 0.4)]
    sign = left_out_sign(SOURCE, iter(values))
    assert sign.value == 0.9
    assert [(each.word, each.value) for each in sign.words] == [(("source", range(3, 5)), 0.9)]  # its content word
    assert sign.marked(0.9) == [("source", range(3, 5))]
    assert sign.marked(1.0) == []


def test_a_source_of_one_word_and_a_forced_translation_have_no_sign(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign = left_out(translator, "Moscow", "Moskau")
    assert (sign.value, sign.words) == (-math.inf, ())
    assert not sign.fires(0.0)
    monkeypatch.setattr(translator.codec, "num_forced", lambda predicted, _: len(predicted))
    assert left_out(translator, TEXT, TARGET).value == -math.inf


def test_a_sentence_with_too_many_spans_is_refused(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = translator.codec.scored_ids(TEXT, TARGET)
    count = len(spans(translator.codec.source_pieces(ids.source)))
    tokens = (count + 1) * (len(ids.source) + len(ids.fed))  # the whole sentence is a pass, too
    monkeypatch.setattr(module, "MOST_TOKENS", tokens)
    next(span_values(translator, TEXT, TARGET))
    monkeypatch.setattr(module, "MOST_TOKENS", tokens - 1)
    with pytest.raises(ValueError, match=f"each of {count} spans takes {tokens} tokens, at most {tokens - 1} are"):
        next(span_values(translator, TEXT, TARGET))


@pytest.mark.parametrize(
    ("text", "is_first", "expected"),
    [
        ("Moscow", False, True),
        ("Tom", False, True),
        ("Tom", True, False),  # as The
        ("I", False, False),
        ("the", False, False),
        ("with", False, False),
        ("stairs", False, True),
        ("Al", False, True),
        ("7", False, True),
        ("x2", False, True),
        ("\u6771\u4eac", False, True),
        ("\u7684", False, False),
        ("...", False, False),
    ],
)
def test_content_words_are_known_by_their_form(text: str, is_first: bool, expected: bool) -> None:
    assert is_content(text, is_first) is expected
