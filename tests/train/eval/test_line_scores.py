"""Character error rate."""

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from train.data.token_shards import DataError
from train.eval.line_scores import edit_distance, pictures_of

TEXTS = st.text("ab ", max_size=6)


def by_recursion(found: str, text: str) -> int:
    """The definition, without a table."""

    @cache
    def distance(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        same = distance(i - 1, j - 1) + (found[i - 1] != text[j - 1])
        return min(same, distance(i - 1, j) + 1, distance(i, j - 1) + 1)

    return distance(len(found), len(text))


@given(TEXTS, TEXTS)
def test_edits_by_their_definition(found: str, text: str) -> None:
    assert edit_distance(found, text) == by_recursion(found, text) == edit_distance(text, found)


def test_a_reader_is_not_scored_on_text(prepared: Path) -> None:
    class Reader:
        patch_size = 8

    with pytest.raises(DataError, match=r"train has text, the model reads patches of 64 pixels: give a test set of"):
        pictures_of(prepared / "train", Reader())  # type: ignore[arg-type]
