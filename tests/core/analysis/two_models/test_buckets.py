"""Buckets of sentences and of words."""

from collections import Counter

import pytest
from sacrebleu.metrics.chrf import CHRF

from core.analysis.two_models.buckets import Bucket, buckets_grid, by_frequency, by_length
from core.analysis.two_models.translated_lines import TestPair, TranslatedPair


def line(number: int, source: str, reference: str, first: str, second: str) -> TranslatedPair:
    return TranslatedPair(TestPair(number, source, reference), ((), first), ((), second), (0.0, 0.0))


LINES = [
    line(1, "a " * 3, "der Hund und der Hund", "der Hund und der", "der der der der"),
    line(2, "a " * 10, "das Haus", "das Haus", "das Boot Boot"),
    line(3, "a " * 11, "der Hund", "ein Hund", "der Hund"),
    line(4, "a " * 41, "der Zug", "der Zug", "das Haus"),
]


def test_sentences_are_grouped_by_the_words_of_their_source() -> None:
    found = by_length(LINES)
    assert [(each.least, each.most, each.count) for each in found] == [(1, 10, 2), (11, 20, 1), (41, None, 1)]
    references = [[each.pair.reference for each in LINES[:2]]]
    for side, score in enumerate((found[0].first, found[0].second)):
        expected = CHRF().corpus_score([each.texts[side] for each in LINES[:2]], references).score
        assert score == pytest.approx(expected)


def test_a_grid_has_a_row_for_each_model_and_their_difference() -> None:
    found = by_length(LINES)
    grid = buckets_grid(found, "words", "chrF", ("one", "two"))
    assert grid.columns == ["1\u201310", "11\u201320", "\u2265 41"]
    assert [name for name, _ in grid.rows] == ["one", "two", "Difference"]
    texts = [[cell.text for cell in row if cell] for _, row in grid.rows]
    rows = [[f"{each.first:.1f}", f"{each.second:.1f}", f"{each.first - each.second:+.1f}"] for each in found]
    assert texts == [list(each) for each in zip(*rows, strict=True)]


def test_words_are_grouped_by_their_occurrences_in_the_references() -> None:
    # der 4, Hund 3, und 1, das 1, Haus 1, Zug 1
    assert by_frequency(LINES) == [
        Bucket(1, 1, 4, *(200 * right / (4 + written) for right, written in ((4, 4), (1, 3)))),
        Bucket(3, 4, 7, *(200 * right / (7 + written) for right, written in ((5, 5), (4, 6)))),
    ]


def test_every_word_of_the_references_is_in_one_bucket() -> None:
    words = Counter(" ".join(each.pair.reference for each in LINES).split())
    found = by_frequency(LINES)
    assert sum(each.count for each in found) == words.total()
    for each in found:
        inside = [count for count in words.values() if each.least <= count <= (each.most or count)]
        assert sum(inside) == each.count
