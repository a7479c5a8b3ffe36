"""Entropies of rows beside loops and closed forms."""

import math
from pathlib import Path

import pytest
import torch

from core.analysis.heads.row_entropy import row_entropy
from core.capture import AttentionMap
from core.results import Explanation
from core.trace import Head
from core.translator import Translator

SOURCE, TARGET = "A dog runs over the old bridge.", "Ein Hund."


def test_it_is_the_sum_over_all_keys(tiny_checkpoint: Path) -> None:
    translator = Translator.from_checkpoint(tiny_checkpoint)
    table = row_entropy(translator, SOURCE, TARGET).table()
    expected = [
        (kind, layer.layer, head, position, token, -sum(weight * math.log(weight) for weight in row if weight))
        for kind, layers in translator.explain(SOURCE, TARGET).maps.items()
        for layer in layers
        for head, rows in enumerate(layer.weights.tolist())
        for position, (token, row) in enumerate(zip(layer.row_tokens, rows, strict=True))
    ]
    found = list(zip(*(table[name] for name in ("kind", "layer", "head", "position", "token")), strict=True))
    assert found == [row[:-1] for row in expected]
    assert table["entropy"] == pytest.approx([row[-1] for row in expected], abs=1e-6)
    assert all(value <= largest + 1e-6 for value, largest in zip(table["entropy"], table["largest"], strict=True))


def test_one_key_has_none_and_equal_weights_have_the_most() -> None:
    tokens = tuple("abcd")
    weights = torch.stack((torch.eye(4), torch.ones(4, 4).tril() / torch.arange(1, 5)[:, None]))
    layer = AttentionMap("decoder_self", 0, weights, tokens, tokens)
    found = row_entropy(Explanation("", "", (), (), (), (), (), {"decoder_self": (layer,)}))
    assert found.nats["decoder_self"][0].tolist() == [[0] * 4, pytest.approx([math.log(n) for n in (1, 2, 3, 4)])]
    assert found.answer(Head("decoder_self", 0, 0)) == (
        "L1 H1 attends most narrowly, with 0% of the largest possible entropy, and L1 H2 most widely, with 100%."
    )
