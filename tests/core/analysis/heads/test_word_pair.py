"""Heads ranked by the weight between two words, beside maps of merged words."""

from pathlib import Path

import pytest
import torch

from core.analysis.heads.word_pair import (
    PairOptions,
    PlacedWord,
    named_word,
    pair_heads,
    rank_heads,
    word_number,
    word_pair,
)
from core.analysis.tokens.words import mean_over_words, word_groups
from core.capture import AttentionMap
from core.results import Explanation
from core.trace import KINDS, Head, Kind
from core.translator import Translator
from tests.core.analysis.conftest import Command

SOURCE, TARGET = "A brown dog runs over the old bridge.", "Ein brauner Hund rennt."


@pytest.fixture(scope="module")
def explained(tiny_checkpoint: Path) -> Explanation:
    return Translator.from_checkpoint(tiny_checkpoint).explain(SOURCE, TARGET)


def words(explanation: Explanation) -> dict[str, list[PlacedWord]]:
    return {
        "source": [("source", group) for group in word_groups(explanation.source_tokens)],
        "target": [("target", group) for group in word_groups(explanation.predicted_tokens)],
    }


@pytest.mark.parametrize(
    ("kind", "query", "key", "row", "column"),
    [
        ("encoder_self", ("source", 3), ("source", 1), 3, 1),
        ("encoder_self", ("source", 1), ("source", 3), 1, 3),  # the first selected attends
        ("cross", ("target", 2), ("source", 1), 2, 1),
        ("cross", ("source", 1), ("target", 2), 2, 1),
        ("decoder_self", ("target", 2), ("target", 0), 2, 1),  # fed one position later, behind <s>
        ("decoder_self", ("target", 0), ("target", 2), 2, 1),
    ],
)
def test_weights_are_those_of_the_maps_of_words(
    explained: Explanation, kind: Kind, query: tuple[str, int], key: tuple[str, int], row: int, column: int
) -> None:
    named = words(explained)
    pair = word_pair(explained, named[query[0]][query[1]], named[key[0]][key[1]])
    assert pair is not None
    assert pair.kind == kind
    found = rank_heads(explained, pair)
    maps = [mean_over_words(layer) for layer in explained.maps[kind]]
    expected = {
        Head(kind, each.layer, head): float(each.weights[head, row, column])
        for each in maps
        for head in range(each.num_heads)
    }
    assert {head: pytest.approx(weight, abs=1e-6) for head, weight in found.heads} == expected
    weights = [weight for _, weight in found.heads]
    assert weights == sorted(weights, reverse=True)
    assert found.table()["layer"][0] == found.heads[0].head.layer


def test_nothing_links_a_word_with_itself_or_words_of_a_missing_map(explained: Explanation) -> None:
    one, other = words(explained)["source"][:2]
    assert word_pair(explained, one, one) is None
    bare = Explanation("", "", explained.source_tokens, (), (), (), (), {})
    assert word_pair(bare, one, other) is None


def test_the_head_that_was_made_to_link_them_is_first() -> None:
    tokens = ("\u2581the", "\u2581ani", "mal", "\u2581is", "\u2581it", "</s>")
    weights = torch.full((2, 6, 6), 0.01)
    weights[1, 4, 1:3] = 0.4
    layers = (
        AttentionMap("encoder_self", 0, weights / 9, tokens, tokens),
        AttentionMap("encoder_self", 1, weights, tokens, tokens),
    )
    explanation = Explanation("", "", tokens, (), (), (), (), {"encoder_self": layers})
    pair = word_pair(explanation, ("source", range(4, 5)), ("source", range(1, 3)))
    assert pair is not None
    found = rank_heads(explanation, pair)
    assert found.heads[0] == (Head("encoder_self", 1, 1), pytest.approx(0.8))
    assert found.summary() == "it \u2192 animal: L2 H2 has the most weight, 0.800."
    (dots,) = found.pictures()
    assert {dot.head: dot.value for dot in dots.dots} == dict(found.heads)


def test_words_are_named_by_side_and_number(explained: Explanation) -> None:
    for placed in (each for of_side in words(explained).values() for each in of_side):
        assert named_word(explained, word_number(explained, placed)) == placed
    for name in ("source.0", "source.99", "target", "3"):
        with pytest.raises(ValueError, match=rf"{name} is not a word of this sentence: give one such as source.3, of "):
            named_word(explained, name)


def test_the_command_prints_the_heads(command: Command) -> None:
    sentence = ["--text", SOURCE, "--target", TARGET, "--query", "source.3"]
    rows = command("pair", *sentence, "--key", "source.2")
    found = pair_heads(command.translator, SOURCE, TARGET, PairOptions(query="source.3", key="source.2"))
    assert [float(row["weight"]) for row in rows] == pytest.approx([weight for _, weight in found.heads], rel=1e-6)
    assert "dog \u2192 brown: L" in command.said
    message = command.error("pair", *sentence, "--key", "source.3")
    assert "source.3 and source.3 are the same word: give two different ones" in message


def test_every_kind_has_a_pair(explained: Explanation) -> None:
    named = words(explained)
    pairs = [
        (named[one][0], named[other][1])
        for one, other in (("source", "source"), ("target", "target"), ("target", "source"))
    ]
    assert {pair.kind for each in pairs if (pair := word_pair(explained, *each))} == set(KINDS)
