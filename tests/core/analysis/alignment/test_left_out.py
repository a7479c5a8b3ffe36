"""Source words that are reported as left out, on constructed attention."""

import pytest
import torch
from torch import Tensor

from core.analysis.alignment import left_out
from core.analysis.alignment.left_out import is_content, left_out_words
from core.capture import AttentionMap

SOURCE = ("\u2581They", "\u2581live", "\u2581in", "\u2581Mos", "cow", ".", "</s>")
TARGET = ("\u2581Sie", "\u2581leben", ".", "</s>")
MOSCOW = range(3, 5)


def cross(weights: Tensor, layer: int = 0, source: tuple[str, ...] = SOURCE) -> AttentionMap:
    return AttentionMap("cross", layer, weights[None], ("<s>", *TARGET[:-1]), source, TARGET)


def rows(*places: dict[int, float]) -> Tensor:
    """A row for each target token, with weights by source token."""
    weights = torch.zeros(len(places), len(SOURCE))
    for row, of_row in enumerate(places):
        for place, weight in of_row.items():
            weights[row, place] = weight
    return weights


def test_a_word_to_which_nothing_attends_is_left_out() -> None:
    assert left_out_words([cross(rows({0: 1}, {1: 1}, {5: 1}, {6: 1}))]) == [MOSCOW]


@pytest.mark.parametrize("row", [2, 3])
def test_a_word_that_only_punctuation_or_the_end_attends_to_is_left_out(row: int) -> None:
    places: list[dict[int, float]] = [{0: 1}, {1: 1}, {5: 1}, {6: 1}]
    places[row] = {3: 0.5, 4: 0.5}
    assert left_out_words([cross(rows(*places))]) == [MOSCOW]


def test_a_word_that_a_word_is_linked_to_is_not() -> None:
    assert left_out_words([cross(rows({0: 1}, {1: 0.4, 3: 0.3, 4: 0.3}, {5: 1}, {6: 1}))]) == []


@pytest.mark.parametrize(("weight", "expected"), [(left_out.LEAST - 0.01, [MOSCOW]), (left_out.LEAST + 0.01, [])])
def test_a_word_without_a_link_needs_some_attention(weight: float, expected: list[range]) -> None:
    given = {3: weight / 2, 4: weight / 2}  # summed over the pieces of the word
    # `live` attracts two rows, or the consensus would link the second of them to what is left.
    assert left_out_words([cross(rows({0: 1}, {1: 1 - weight, **given}, {5: 1}, {6: 1}))]) == expected


def test_function_words_are_never_left_out() -> None:
    assert left_out_words([cross(rows({3: 0.5, 4: 0.5}, {3: 0.5, 4: 0.5}, {5: 1}, {6: 1}))]) == []  # They, live, in


def test_only_the_upper_half_of_the_layers_counts() -> None:
    nothing, linked = rows({0: 1}, {1: 1}, {5: 1}, {6: 1}), rows({0: 1}, {3: 1}, {5: 1}, {6: 1})
    assert left_out_words([cross(linked, 0), cross(nothing, 1)]) == [MOSCOW]
    assert left_out_words([cross(nothing, 0), cross(linked, 1)]) == []


def test_a_translation_without_words_has_no_marks() -> None:
    empty = AttentionMap("cross", 0, torch.ones(1, 1, 7) / 7, ("<s>",), SOURCE, ("</s>",))
    assert left_out_words([empty]) == []
    bare = AttentionMap("cross", 0, torch.ones(1, 4, 1), ("<s>", *TARGET[:-1]), ("</s>",), TARGET)
    assert left_out_words([bare]) == []


def test_other_attention_is_refused() -> None:
    with pytest.raises(ValueError, match="words are aligned by cross-attention, found encoder_self"):
        left_out_words([AttentionMap("encoder_self", 0, torch.ones(1, 7, 7) / 7, SOURCE, SOURCE)])


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
        ("7", False, True),
        ("\u6771\u4eac", False, True),
        ("\u7684", False, False),
        ("...", False, False),
    ],
)
def test_content_words_are_known_by_their_form(text: str, is_first: bool, expected: bool) -> None:
    assert is_content(text, is_first) is expected
