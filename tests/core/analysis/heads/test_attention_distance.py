"""Mean distances beside a loop over all pairs of tokens."""

import math
from pathlib import Path

import pytest
import torch

from core.analysis.heads.attention_distance import distance, head_distances
from core.capture import AttentionMap
from core.results import Explanation
from core.text.byte_pieces import is_special
from core.trace import Head
from core.translator import Translator
from tests.core.analysis.conftest import Command

SOURCE, TARGET = "A dog runs over the old bridge.", "Ein Hund."


def looped(layer: AttentionMap, head: int, special: bool) -> tuple[float, float]:
    """Distance and share, pair by pair."""
    queries = layer.predicted_tokens if layer.kind == "cross" else layer.query_tokens
    assert queries is not None
    rows = [row for row, token in enumerate(queries) if special or not is_special(token)]
    keys = [key for key, token in enumerate(layer.key_tokens) if special or not is_special(token)]
    moment = weight = 0.0
    for number, row in enumerate(rows):
        for place, key in enumerate(keys):
            own = float(layer.weights[head, row, key])
            span = abs(row - key)
            if layer.kind == "cross":  # from the diagonal, along the source
                span = abs((number + 0.5) / len(rows) * len(keys) - (place + 0.5))
            moment, weight = moment + own * span, weight + own
    return moment / weight, weight / len(queries)


@pytest.mark.parametrize("special", [False, True])
def test_it_is_the_mean_over_all_pairs(tiny_checkpoint: Path, special: bool) -> None:
    translator = Translator.from_checkpoint(tiny_checkpoint)
    found = distance(translator, SOURCE, TARGET, special=special).heads
    maps = translator.explain(SOURCE, TARGET).maps
    assert len(found) == sum(layer.num_heads for layers in maps.values() for layer in layers)
    for each in found:
        kind, layer, head = each.head
        assert (each.distance, each.share) == pytest.approx(looped(maps[kind][layer], head, special), rel=1e-5)
        assert not special or each.share == pytest.approx(1, rel=1e-5)


def explained(layer: AttentionMap) -> Explanation:
    return Explanation("", "", (), (), (), (), (), {layer.kind: (layer,)})


def test_a_head_of_the_previous_token_has_distance_1() -> None:
    tokens = tuple("abcd")
    weights = torch.zeros(2, 4, 4)
    weights[0, range(1, 4), range(3)] = 1
    weights[1, range(4), range(4)] = 1
    found = head_distances(explained(AttentionMap("encoder_self", 0, weights, tokens, tokens)))
    assert [(each.head, each.distance) for each in found.heads] == [
        (Head("encoder_self", 0, 0), 1),
        (Head("encoder_self", 0, 1), 0),
    ]


def test_a_diagonal_of_cross_attention_has_distance_0_whatever_the_special_tokens() -> None:
    fed, predicted, keys = ("<s>", "x", "y"), ("x", "y", "</s>"), ("a", "b", "</s>")
    weights = torch.eye(3)[None]
    (found,) = head_distances(explained(AttentionMap("cross", 0, weights, fed, keys, predicted))).heads
    assert (found.distance, found.share) == (0, pytest.approx(2 / 3))


def test_without_any_counted_weight_there_is_no_distance() -> None:
    weights = torch.zeros(1, 2, 2)
    weights[..., 1] = 1
    (found,) = head_distances(explained(AttentionMap("encoder_self", 0, weights, *[("a", "</s>")] * 2))).heads
    assert math.isnan(found.distance)
    assert found.share == 0


def test_the_command_prints_the_table(command: Command) -> None:
    for options, special in (([], False), (["--special"], True)):
        rows = command("distance", "--text", SOURCE, "--target", TARGET, *options)
        expected = distance(command.translator, SOURCE, TARGET, special=special).heads
        assert [(row["kind"], int(row["layer"]), int(row["head"])) for row in rows] == [each.head for each in expected]
        for name in ("distance", "share"):
            assert [float(row[name]) for row in rows] == pytest.approx([getattr(each, name) for each in expected])
