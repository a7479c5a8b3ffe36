"""Targets that a person has changed: a word of their own in place of a token, and how what comes of it differs."""

import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

from core.byte_pieces import character_groups, is_special
from core.tokenizer import SPACE_MARK, Tokenizer

# Unicode's categories of what is written close to the word before, such as a comma or a bracket
CLOSING = ("Po", "Pe", "Pf")


def with_word(tokenizer: Tokenizer, token_ids: Sequence[int], position: int, text: str) -> list[int]:
    """The beginning of a target, with a text in place of the token at a position.

    The text is a word of its own where a word begins, and where it begins with a space. Inside a word it goes on from
    the letters before, and so does punctuation; that word is split into pieces anew, as the tokenizer would write it.

    Args:
        token_ids: of the target.
        position: from 0; behind the last token, or at `</s>`, the text is added.

    Returns:
        The tokens before, and those of the text.

    Raises:
        ValueError: there is no text.
    """
    word = " ".join(text.split())
    if not word:
        raise ValueError("there is no word: type one, or choose one of the alternatives")
    pieces = [tokenizer.piece(token_id) for token_id in token_ids]
    begun = word_begun(pieces, position)
    kept = list(token_ids[: begun.stop])
    if text[0].isspace() or not (begun or unicodedata.category(word[0]) in CLOSING):
        return [*kept, *tokenizer.encode(word)]
    start = begun.start if begun else _last_space(pieces[: len(kept)])
    return [*kept[:start], *tokenizer.encode(tokenizer.decode(kept[start:]) + word)]


def word_begun(tokens: Sequence[str], position: int) -> range:
    """Where the pieces stand that a text at a position goes on from; an empty range before that position, where a word
    begins.

    It ends before the position itself, unless that is in the midst of a character of several bytes: these stay
    together.
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
    """The position of the last token with a space before it."""
    return max((index for index, token in enumerate(tokens) if token.startswith(SPACE_MARK)), default=0)


def aligned(first: Sequence[int], second: Sequence[int]) -> list[tuple[int | None, int | None]]:
    """Two targets beside each other: pairs of positions. First what both begin with, then the longest runs that both
    have.

    Where one has more tokens than the other, the other's position is None.
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
