"""Modules without a description: what they compute is found, or where they part is said; and none opens wrong."""

import warnings
from typing import Any

import pytest
import torch

from core import CheckpointError, Translator
from tests.core.formats.module_styles import OPENED, REFUSED, SIZES, Styled

PIECES = tuple(["<unk>", "<pad>", "<s>", "</s>", *map(str, range(4, size))] for size in SIZES)


@pytest.mark.parametrize("style", OPENED, ids=" ".join)  # functions have no names that last
def test_a_module_needs_no_description(style: dict[str, Any]) -> None:
    model = Styled(**style).eval()
    with warnings.catch_warnings(record=True) as warned:
        found = Translator.from_model(model, PIECES)
    padding = ["Styled attends to padding"] * (style.get("forward") == "blind")
    assert [str(each.message).partition(":")[0] for each in warned] == padding
    source, target = torch.randint(4, SIZES[0], (2, 11)), torch.randint(4, SIZES[1], (2, 13))
    expected = model.run(source, target).log_softmax(-1)
    torch.testing.assert_close(found.model(source, target).log_softmax(-1), expected, atol=2e-4, rtol=0)
    assert found.config.num_heads == style.get("h", 4)


@pytest.mark.parametrize("problem", REFUSED)
def test_what_cannot_be_shown_is_named(problem: str) -> None:
    with pytest.raises(CheckpointError, match=f"^Styled: {problem}"):
        Translator.from_model(Styled(**REFUSED[problem]), PIECES)


def test_a_vocabulary_of_another_model_is_named() -> None:
    with pytest.raises(CheckpointError, match=r"^Styled: no matrix has 9 rows, one for each piece of the given source"):
        Translator.from_model(Styled(), PIECES[0][:9])
