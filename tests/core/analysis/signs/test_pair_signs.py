"""The signs of a pair, beside loops over the logits of single passes, and on constructed log-probabilities."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from core.analysis.signs.pair_signs import (
    MOST_MARKED,
    SIGNS,
    ForcedPair,
    MarkedWord,
    Sign,
    SignName,
    forced_pairs,
    pair_signs,
    signs_of,
)
from core.analysis.signs.thresholds import UNMEASURED
from core.model import Transformer
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator

SOURCE, TARGET = "Two dogs run in 2014.", "Zwei Hunde rennen rennen Hunde rennen 2015 ."
END = "</s>"


@pytest.fixture
def translator(tiny_model: Transformer, tokenizer: SentencePieceTokenizer) -> Translator:
    return Translator(tiny_model, tokenizer)


def pieces(text: str) -> tuple[str, ...]:
    return (*(f"\u2581{word}" for word in text.split()), END)


def pair(source: str, target: str, log_prob: float = -1.0, without: float = -3.0) -> ForcedPair:
    tokens = pieces(target)
    log_probs = ((log_prob,) * len(tokens), (without,) * len(tokens))
    return ForcedPair(pieces(source), tokens, *log_probs, source=source, target=target)


def log_probs_of(translator: Translator, source_ids: Sequence[int], predicted: Sequence[int]) -> list[float]:
    """Log-probabilities by one pass for each position, in float64."""
    model, found = translator.model, list[float]()
    for position, token in enumerate(predicted):
        fed = [translator.config.bos_id, *predicted[:position]]
        logits = model(torch.tensor([list(source_ids)]), torch.tensor([fed]))[0, -1].double()
        found.append(float(logits[token] - logits.logsumexp(0)))
    return found


def test_values_are_those_of_independent_passes(translator: Translator) -> None:
    (found,) = forced_pairs(translator, [(SOURCE, TARGET)])
    ids = translator.codec.scored_ids(SOURCE, TARGET)
    given = log_probs_of(translator, ids.source, ids.predicted)
    bare = log_probs_of(translator, [translator.config.eos_id], ids.predicted)
    assert found.log_probs == pytest.approx(given, abs=1e-4)
    assert found.without_source == pytest.approx(bare, abs=1e-4)
    signs = signs_of(found)
    expected = -sum(2 * with_source - without for with_source, without in zip(given, bare, strict=True)) / len(given)
    assert signs["detached"].value == pytest.approx(expected, abs=1e-4)
    doubts = list[float]()
    starts = [place for place, token in enumerate(found.tokens) if token.startswith("\u2581")]
    for start, stop in zip(starts, [*starts[1:], len(given) - 1], strict=True):
        if any(map(str.isalnum, "".join(found.tokens[start:stop]))):
            surprisal = -sum(given[start:stop])
            doubts.append(min(surprisal, surprisal + sum(bare[start:stop])))
    assert signs["doubtful"].value == pytest.approx(max(doubts), abs=1e-4)
    assert [each.value for each in signs["doubtful"].words] == pytest.approx(sorted(doubts, reverse=True), abs=1e-4)


def test_many_pairs_have_the_signs_of_each_alone(translator: Translator) -> None:
    pairs = [(SOURCE, TARGET), ("A dog.", "Ein Hund."), ("The sea", ""), ("12 cats", "13 Katzen")]
    for each, signs in zip(pairs, pair_signs(translator, pairs), strict=True):
        (alone,) = pair_signs(translator, [each])
        assert signs.keys() == alone.keys() == set(SIGNS) - {"left_out"}
        for name, sign in signs.items():
            assert sign.value == pytest.approx(alone[name].value, abs=1e-4)


@pytest.mark.parametrize(
    ("source", "target", "value", "words"),
    [
        ("a b c", "x y z", 0, []),
        ("a b c", "x y x y", 1, [2, 3]),  # the second time
        ("a b c", "x x x x", 2, [1, 2, 3]),
        ("a a a", "x x x", 0, [1, 2]),  # as often as in the source
        ("a b a b", "x y z", -1, []),
        ("a b c", "X y , x Y", 1, [3, 4]),  # whatever their case; a mark is no word
    ],
)
def test_repetition_counts_pairs_of_neighbours(source: str, target: str, value: float, words: list[int]) -> None:
    sign = signs_of(pair(source, target))["repetition"]
    assert sign.value == value
    assert [each.word[1].start for each in sign.words] == words


def test_repetition_equals_a_count_of_all_pairs() -> None:
    text = "a b a b c a b c c c d a b"
    words = text.split()
    neighbours = [(words[i], words[i + 1]) for i in range(len(words) - 1)]
    expected = sum(neighbours.count(each) - 1 for each in set(neighbours))
    assert signs_of(pair("e f g", text))["repetition"].value == expected


@pytest.mark.parametrize(
    ("name", "source", "target", "words"),
    [
        ("numbers", "5 of 20,000", "5 von 20.000", []),
        ("numbers", "5 of 1070", "5 von 2070", [("source", 2), ("target", 2)]),
        ("copied", "PLEASE CLOSE THE DOOR", "PLEASE CLOSE die DOR", [("target", 0), ("target", 1), ("target", 3)]),
        ("lost", "see run() and run()", "siehe run() und", [("source", 3)]),
    ],
)
def test_signs_of_the_texts_mark_words(name: SignName, source: str, target: str, words: list[tuple[str, int]]) -> None:
    sign = signs_of(pair(source, target))[name]
    assert [(side, group.start) for (side, group), _ in sign.words] == words
    assert sign.fires(UNMEASURED[name]) == bool(words)


def test_of_many_words_those_with_the_largest_values_are_marked() -> None:
    words = tuple(MarkedWord(("source", range(place, place + 1)), place * 7 % 30) for place in range(30))
    sign = Sign("left_out", 29.0, words)
    reaching, marked = sign.reaching(5.0), sign.marked(5.0)
    assert len(reaching) == 25
    assert marked == reaching[:MOST_MARKED]
    values = dict(words)
    assert sorted((values[word] for word in marked), reverse=True) == list(range(29, 29 - MOST_MARKED, -1))
    assert sign.strongest() == marked[:1]
    assert sign.marked(None) == sign.reaching(30.0) == []


def test_a_doubtful_word_is_improbable_and_more_so_because_of_the_source() -> None:
    tokens = pieces("gut fremd selten")
    found = ForcedPair(pieces("a"), tokens, (-0.1, -6.0, -9.0, 0.0), (-3.0, -2.0, -12.0, 0.0))
    sign = signs_of(found)["doubtful"]
    assert sign.value == 4.0  # of `fremd`; the source makes `selten` more probable
    assert sign.marked(1.0) == [("target", range(1, 2))]
    assert sign.fires(4.0)
    assert not sign.fires(4.1)
    assert not sign.fires(None)


def test_forced_tokens_and_marks_are_no_words() -> None:
    tokens = ("\u2581gut", "\u2581,", END)
    found = ForcedPair(pieces("a"), tokens, (-9.0, -9.0, 0.0), (0.0, 0.0, 0.0), num_forced=1)
    assert signs_of(found)["doubtful"].value == -math.inf
    assert signs_of(found)["detached"].value == pytest.approx(9.0)  # of the mark and `</s>`


def test_a_model_of_any_format_has_signs(checkpoint_of_any_kind: Path) -> None:
    translator = Translator.from_checkpoint(checkpoint_of_any_kind)
    (signs,) = pair_signs(translator, [(SOURCE, TARGET)])
    assert all(math.isfinite(sign.value) for sign in signs.values())


def test_a_model_that_is_not_autoregressive_has_none(mask_predict_checkpoint: Path) -> None:
    with pytest.raises(ValueError, match="scoring a given target does not apply to this model"):
        pair_signs(Translator.from_checkpoint(mask_predict_checkpoint), [(SOURCE, TARGET)])
