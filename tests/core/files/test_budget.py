"""Limits of what one file may take."""

import math
import sys
from types import MappingProxyType

import pytest
import torch

from core.files import budget


@pytest.mark.parametrize(("texts", "ratio"), [(0, budget.MAX_RATIO), (10**6, budget.MAX_TEXT_RATIO)])
def test_an_archive_unpacks_to_some_times_its_size(texts: int, ratio: int) -> None:
    most = budget.FREE_BYTES + 100 * ratio
    budget.check_unpacked(100, most, texts)
    with pytest.raises(ValueError, match=rf"^has 100 bytes and would unpack to {most + 1}, at most {most} are read"):
        budget.check_unpacked(100, most + 1, texts)


@pytest.mark.parametrize("weights", [0, 10**6, 10**10])
@pytest.mark.parametrize(("per_pair", "per_token"), [(1, 1), (144, 70_000), (12_288, 1), (1, 10**9)])
def test_the_longest_pass_fits_and_one_more_token_does_not(per_pair: int, per_token: int, weights: int) -> None:
    def taken(tokens: int) -> int:
        return budget.NUMBER * (per_pair * tokens**2 + per_token * tokens)

    found = budget.longest_pass(per_pair, per_token, weights)
    assert taken(found) <= budget.COMPUTATION + 2 * weights == budget.computation_bytes(weights) < taken(found + 1)


def test_hypotheses_fit_in_memory_and_time() -> None:
    """With few numbers for a hypothesis, time is the limit; with many, memory."""
    assert budget.most_hypotheses(1, 10**6, 10, 0) == budget.COMPUTATION // budget.NUMBER // 10**6
    assert budget.most_hypotheses(10**4, 1, 100, 0) == 32 * budget.COMPUTATION // budget.NUMBER // (10**4 * 100**2)


@pytest.mark.parametrize("value", [None, True, 0.5, "a", "\ud800", b"x", [1, "a", [2]], {"a": (1, {})}, {3}, 2**64])
def test_short_values_are_shown_as_python_writes_them(value: object) -> None:
    assert budget.shown(value) == repr(value)
    assert budget.shown(MappingProxyType({"a": 1})) == "{'a': 1}"


def test_values_are_shown_in_bounded_time() -> None:
    """A pickle repeats a list in a list in a few bytes; Python does not print an integer of too many digits."""
    nested: object = ["x" * 100]
    for _ in range(60):
        nested = [nested, {"a": nested}, (nested, nested)]
    assert len(budget.shown(nested)) <= 60
    assert (
        budget.shown(10 ** (2 * sys.get_int_max_str_digits()))
        == f"an integer of {math.ceil(8600 * math.log2(10))} bits"
    )
    assert budget.shown(torch.zeros(1).expand(10**12)) == "a Tensor"
    assert budget.shown("x" * 10**6) == repr("x" * 55)[:-1] + " ..."
