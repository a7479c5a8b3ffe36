"""Two maps of attention side by side: which of their words are the same, and the signed difference there."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from core.capture import AttentionMap

ENOUGH = 0.5  # share of the shorter axis that must be in both; of less, a difference would say little


@dataclass(frozen=True)
class Difference:
    """Two layers of attention, first minus second, on the words that both have.

    Attributes:
        map: signed weights, from -1 to 1, with the words of the first.
        first_only, second_only: the words of rows and keys that are not in `map`, having no counterpart.
    """

    map: AttentionMap
    first_only: tuple[str, ...]
    second_only: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Whether both have the very same words on both axes."""
        return not self.first_only and not self.second_only


def common_positions(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """Where two sequences have the same words in the same order: pairs of positions, growing in both."""
    blocks = SequenceMatcher(None, list(map(str, first)), list(map(str, second)), autojunk=False).get_matching_blocks()
    return [(block.a + step, block.b + step) for block in blocks for step in range(block.size)]


def common_axes(first: AttentionMap, second: AttentionMap) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """`common_positions` of the rows, and of the keys. A decoder row is the same when it predicts the same word;
    what was fed to it may differ.
    """
    return common_positions(_asked(first), _asked(second)), common_positions(first.key_tokens, second.key_tokens)


def difference(first: AttentionMap, second: AttentionMap) -> Difference:
    """Subtract the second map from the first, head by head as far as both have them, where rows and keys are the same
    words.

    A weight on a word depends on the whole sentence around it: a difference between two sentences is not the doing of
    one word.

    Returns:
        The difference where `common_axes` has the same words.

    Raises:
        ValueError: the maps are of different kinds, or less than half of the rows or keys of the shorter one are in
            both.
    """
    if first.kind != second.kind:
        raise ValueError(
            f"{first.kind} and {second.kind} are different kinds of attention: there is no difference between them"
        )
    heads = min(first.num_heads, second.num_heads)
    rows, keys = common_axes(first, second)
    for name, pairs, one, other in (
        ("rows", rows, _asked(first), _asked(second)),
        ("keys", keys, first.key_tokens, second.key_tokens),
    ):
        if len(pairs) < ENOUGH * min(len(one), len(other)):
            raise ValueError(
                f"of {len(one)} and {len(other)} {name} only {len(pairs)} are the same words in the same order: too "
                f"few to subtract"
            )
    mine = _picked(first, [row for row, _ in rows], [key for key, _ in keys])
    theirs = _picked(second, [row for _, row in rows], [key for _, key in keys])
    signed = replace(mine, weights=mine.weights[:heads] - theirs.weights[:heads], mask=mine.visible | theirs.visible)
    return Difference(
        signed,
        (*_without(_asked(first), [row for row, _ in rows]), *_other_keys(first, [key for key, _ in keys])),
        (*_without(_asked(second), [row for _, row in rows]), *_other_keys(second, [key for _, key in keys])),
    )


def mean_distance(found: Difference) -> list[float]:
    """For each head the mean over rows of sum_k |a_k - b_k| / 2: 0 for equal rows, 1 for rows that look at nothing in
    common.

    It is the total variation distance where all keys are in both; otherwise a part of it.
    """
    return (found.map.weights.abs().sum(-1) / 2).mean(-1).tolist()


def largest(found: Difference, head: int, count: int = 3) -> list[tuple[int, int, float]]:
    """The largest differences of one head as row, key and signed weight, the largest first; those of 0 are left out."""
    weights = found.map.weights[head]
    order = weights.abs().flatten().argsort(descending=True, stable=True)[:count].tolist()
    cells = [(place // weights.size(1), place % weights.size(1)) for place in order]
    return [(row, key, value) for row, key in cells if (value := weights[row, key].item()) != 0]


def _asked(attention: AttentionMap) -> tuple[str, ...]:
    return attention.predicted_tokens or attention.query_tokens


def _picked(attention: AttentionMap, rows: list[int], keys: list[int]) -> AttentionMap:
    predicted = attention.predicted_tokens and tuple(attention.predicted_tokens[row] for row in rows)
    return AttentionMap(
        attention.kind,
        attention.layer,
        attention.weights[:, rows][:, :, keys],
        tuple(attention.query_tokens[row] for row in rows),
        tuple(attention.key_tokens[key] for key in keys),
        predicted,
        attention.visible[rows][:, keys],
    )


def _without(words: Sequence[str], positions: Sequence[int]) -> tuple[str, ...]:
    return tuple(word for position, word in enumerate(words) if position not in positions)


def _other_keys(attention: AttentionMap, positions: Sequence[int]) -> tuple[str, ...]:
    """Keys that were left out, unless rows have already said so: in self-attention the two axes are one sentence."""
    return _without(attention.key_tokens, positions) if attention.kind == "cross" else ()
