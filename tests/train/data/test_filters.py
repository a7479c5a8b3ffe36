import pytest

from train.data.filters import Filters, PairFilter
from train.data.parallel_text import Pair

PAIRS: list[Pair] = [
    ("a b c", "x y z"),
    ("", "x"),
    ("x", "  "),
    ("same", "same"),
    ("a b c", "x y z"),
    ("a b c d", "x"),
    ("a b c", "another"),
    ("", "x"),
]


def kept(filters: Filters) -> tuple[list[int], dict[str, int]]:
    pair_filter = PairFilter(filters)
    for pair in PAIRS:
        pair_filter.add(pair)
    return pair_filter.kept().nonzero()[0].tolist(), dict(pair_filter.dropped)


@pytest.mark.parametrize(
    ("filters", "indices", "dropped"),
    [
        (Filters(), [0, 3, 4, 5, 6], {"empty": 3}),
        (Filters(max_words=3), [0, 3, 4, 6], {"empty": 3, "too long": 1}),
        (Filters(max_ratio=2), [0, 3, 4, 6], {"empty": 3, "ratio": 1}),
        (Filters(identical=True), [0, 4, 5, 6], {"empty": 3, "identical": 1}),
        (Filters(duplicates=True), [0, 3, 5, 6], {"empty": 3, "duplicate": 1}),
        (Filters(max_words=1, duplicates=True), [3], {"empty": 3, "too long": 4}),
    ],
)
def test_each_filter_leaves_out_and_counts_its_own(filters: Filters, indices: list[int], dropped: dict[str, int]):
    assert kept(filters) == (indices, dropped)


def test_a_pair_that_was_left_out_does_not_make_a_later_one_a_duplicate() -> None:
    pair_filter = PairFilter(Filters(duplicates=True, max_words=2))
    for pair in (("a b c", "x"), ("a", "x"), ("a", "x"), ("a b c", "x")):
        pair_filter.add(pair)
    assert pair_filter.kept().tolist() == [False, True, False, False]
    assert pair_filter.dropped == {"too long": 2, "duplicate": 1}


def test_limits_that_leave_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match=r"max_words \(0\) must be an integer from 1"):
        Filters(max_words=0)
    with pytest.raises(ValueError, match=r"max_ratio \(0.5\) must be a number from 1"):
        Filters(max_ratio=0.5)
