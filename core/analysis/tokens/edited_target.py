"""Targets edited by the user, and their alignment to the original."""

import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

from core.text.byte_pieces import character_groups, is_special
from core.text.text_normalization import normalized
from core.text.tokenizer import SPACE_MARK, Tokenizer

# Unicode categories of characters with no space before them, such as commas and closing brackets
CLOSING = ("Po", "Pe", "Pf")


def replace_token(tokenizer: Tokenizer, token_ids: Sequence[int], position: int, text: str) -> list[int]:
    """The tokens of a target before a position, from 0, and those of a text in place of the others.

    The text is a new word if a word begins there, or if it begins with a space. Otherwise, and for punctuation, it
    continues the word before, which is tokenized again together with it. At the end or `</s>`, it is appended.

    Raises:
        ValueError: the text is blank.
    """
    word = normalized(text)
    if not word:
        raise ValueError("the text is blank: type a word, or choose one of the alternatives")
    pieces = tokenizer.pieces(token_ids)
    begun = begun_word(pieces, position)
    kept = list(token_ids[: begun.stop])
    if text[0].isspace() or not (begun or unicodedata.category(word[0]) in CLOSING):
        return [*kept, *tokenizer.encode(word)]
    start = begun.start if begun else _last_space(pieces[: len(kept)])
    return [*kept[:start], *tokenizer.encode(tokenizer.decode(kept[start:]) + word)]


def begun_word(tokens: Sequence[str], position: int) -> range:
    """Positions of the pieces that a text at a position would continue, empty if a word begins there.

    The range ends at the position, or before the character of several bytes, kept whole, that it is part of.
    """
    stop = next((group.start for group in character_groups(tokens) if position in group), len(tokens))
    here = tokens[stop] if stop < len(tokens) else ""
    inside = (
        here
        and not is_special(here)
        and not here.startswith(SPACE_MARK)
        and any(unicodedata.category(c)[0] not in "PS" for c in here)
    )
    return range(_last_space(tokens[:stop]) if inside else stop, stop)


def _last_space(tokens: Sequence[str]) -> int:
    """Position of the last token with a space before it."""
    return max((index for index, token in enumerate(tokens) if token.startswith(SPACE_MARK)), default=0)


def align_targets(first: Sequence[int], second: Sequence[int]) -> list[tuple[int | None, int | None]]:
    """Align two targets: pairs of positions, None for tokens without a counterpart.

    The common prefix is aligned first, then the longest common runs.
    """
    begun = next(
        (index for index, (one, other) in enumerate(zip(first, second, strict=False)) if one != other),
        min(len(first), len(second)),
    )
    pairs: list[tuple[int | None, int | None]] = [(index, index) for index in range(begun)]
    for _, first_start, first_stop, second_start, second_stop in SequenceMatcher(
        None, first[begun:], second[begun:], autojunk=False
    ).get_opcodes():
        pairs.extend(
            zip_longest(
                range(begun + first_start, begun + first_stop), range(begun + second_start, begun + second_stop)
            )
        )
    return pairs
