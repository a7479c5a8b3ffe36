"""Signed difference of two attention maps on their common tokens."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

import torch

from core.analysis.tokens.words import readable
from core.capture import AttentionMap
from core.text.phrases import Number, Phrase, listed, marked

MORE, LESS = (
    marked("\u201c{query}\u201d attends to \u201c{key}\u201d {amount} more"),
    marked("\u201c{query}\u201d attends to \u201c{key}\u201d {amount} less"),
)
SHOWN = 0.01  # smaller differences are not named in a sentence
MIN_COMMON = 0.5  # least share of the shorter axis that must be common for a meaningful difference


@dataclass(frozen=True)
class Difference:
    """Difference of two layers of attention on their common tokens."""

    map: AttentionMap  # weights of the first minus the second, from -1 to 1, with the tokens of the first map
    first_only: tuple[str, ...]  # tokens of rows and keys without a counterpart, which `map` lacks
    second_only: tuple[str, ...]  # likewise of the second map

    @property
    def is_whole(self) -> bool:
        """Whether both maps have exactly the same tokens on both axes."""
        return not self.first_only and not self.second_only

    def answer(self, head: int) -> Phrase:
        """The largest differences of one head."""
        rows, keys = (list(map(readable, tokens)) for tokens in (self.map.row_tokens, self.map.key_tokens))
        parts = [
            Phrase(MORE if value > 0 else LESS, query=rows[row], key=keys[key], amount=Number(abs(value), ".2f"))
            for row, key, value in largest_differences(self, head)
            if abs(value) >= SHOWN
        ]
        if not parts:
            return Phrase(marked("No weight of this head differs by 0.01 or more."))
        return Phrase(marked("In the first, {differences}."), differences=listed(parts, marked("{first}; {rest}")))


def common_positions(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of positions with the same tokens in the same order, both increasing from pair to pair."""
    blocks = SequenceMatcher(None, list(map(str, first)), list(map(str, second)), autojunk=False).get_matching_blocks()
    return [(block.a + step, block.b + step) for block in blocks for step in range(block.size)]


def common_axes(first: AttentionMap, second: AttentionMap) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """`common_positions` of the rows and of the keys.

    Decoder rows are matched by the token they predict; the tokens fed may differ.
    """
    return common_positions(first.row_tokens, second.row_tokens), common_positions(first.key_tokens, second.key_tokens)


def difference(first: AttentionMap, second: AttentionMap) -> Difference:
    """Subtract the second map from the first, on common rows and keys.

    Heads are paired by number; surplus heads of the larger map are dropped. A weight depends on the whole sentence, so
    a difference between two sentences cannot be attributed to a single word.

    Returns:
        The difference on `common_axes`.

    Raises:
        ValueError: the maps are of different kinds, or they share less than half of the shorter one's rows or keys.
    """
    if first.kind != second.kind:
        raise ValueError(f"{first.kind} and {second.kind} are different kinds of attention: compare maps of one kind")
    heads = min(first.num_heads, second.num_heads)
    rows, keys = common_axes(first, second)
    for name, pairs, one, other in (
        ("rows", rows, first.row_tokens, second.row_tokens),
        ("keys", keys, first.key_tokens, second.key_tokens),
    ):
        if len(pairs) < MIN_COMMON * min(len(one), len(other)):
            raise ValueError(
                f"of {len(one)} and {len(other)} {name} only {len(pairs)} are the same words in the same order: too "
                f"few to subtract"
            )
    mine = first.select([row for row, _ in rows], [key for key, _ in keys])
    theirs = second.select([row for _, row in rows], [key for _, key in keys])
    hidden = [torch.zeros(each.weights.shape[:2]) if each.hidden is None else each.hidden for each in (mine, theirs)]
    signed = replace(
        mine,
        weights=mine.weights[:heads] - theirs.weights[:heads],
        mask=mine.visible | theirs.visible,
        hidden=hidden[0][:heads] - hidden[1][:heads],
    )
    return Difference(
        signed,
        (*_without(first.row_tokens, [row for row, _ in rows]), *_other_keys(first, [key for key, _ in keys])),
        (*_without(second.row_tokens, [row for _, row in rows]), *_other_keys(second, [key for _, key in keys])),
    )


def with_head(attention: AttentionMap, head: int, count: int) -> AttentionMap:
    """A map with one of its heads in place of each of so many, so that every head of another can be compared with it.

    Raises:
        ValueError: there is no such head.
    """
    if not 0 <= head < attention.num_heads:
        raise ValueError(f"head {head} is not one of the {attention.num_heads} of this layer, counted from 0")
    hidden = None if attention.hidden is None else attention.hidden[head].expand(count, -1)
    return replace(attention, weights=attention.weights[head].expand(count, -1, -1), hidden=hidden)


def mean_distance(difference: Difference) -> list[float]:
    """Mean over rows of sum_k |a_k - b_k| / 2 for each head, from 0 (equal rows) to 1 (disjoint rows).

    It is the total variation distance if all keys are common, and a part of it otherwise.
    """
    return (difference.map.weights.abs().sum(-1) / 2).mean(-1).tolist()


def largest_differences(difference: Difference, head: int, count: int = 3) -> list[tuple[int, int, float]]:
    """Largest differences of one head as (row, key, signed weight), largest first; zeros are left out."""
    weights = difference.map.weights[head]
    order = weights.abs().flatten().argsort(descending=True, stable=True)[:count].tolist()
    cells = [(place // weights.size(1), place % weights.size(1)) for place in order]
    return [(row, key, value) for row, key in cells if (value := weights[row, key].item()) != 0]


def _without(words: Sequence[str], positions: Sequence[int]) -> tuple[str, ...]:
    return tuple(word for position, word in enumerate(words) if position not in positions)


def _other_keys(attention: AttentionMap, positions: Sequence[int]) -> tuple[str, ...]:
    """Dropped keys, in cross-attention only: elsewhere the rows name them."""
    return _without(attention.key_tokens, positions) if attention.kind == "cross" else ()
