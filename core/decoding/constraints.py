"""Constraints of a search: tokens that it may not write, in some places or in all, and what it has to begin with.

A token that is not allowed is left out of the candidates; the log-probabilities of the others stay the model's own.
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from core.files.number_range import NumberRange
from core.text.tokenizer import Tokenizer


class Forbidden(NamedTuple):
    """A token that is not generated."""

    token_id: int
    position: int | None = None  # number of tokens before it, from 0; None for every position


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """Constraints of a search for one token after the other.

    Raises:
        ValueError: a value is out of range.
    """

    # least number of tokens before `</s>`, which is forbidden until then. For over half of the sentences of WMT'15
    # English to German the most probable translation of all is the empty one, which a beam of ordinary size does not
    # find (Stahlberg & Byrne 2019).
    min_length: int = 0
    # tokens that are not generated. Their text may still be written with other tokens.
    forbidden: tuple[Forbidden, ...] = ()

    def __post_init__(self) -> None:
        NumberRange(int).check("min_length", self.min_length)
        for token_id, position in self.forbidden:
            if token_id < 0 or (position is not None and position < 0):
                raise ValueError(
                    f"the forbidden token {token_id} at position {position} must have an id and a position from 0 on, "
                    f"or None for every position"
                )

    def excluded_at(self, position: int, eos_id: int) -> set[int]:
        """Ids that are not generated after `position` tokens."""
        excluded = {token_id for token_id, at in self.forbidden if at is None or at == position}
        return excluded | ({eos_id} if position < self.min_length else set())

    def check(self, vocab_size: int) -> None:
        """Check that the forbidden tokens are of a vocabulary.

        Raises:
            ValueError: one is not.
        """
        strange = next((each.token_id for each in self.forbidden if each.token_id >= vocab_size), None)
        if strange is not None:
            raise ValueError(
                f"the token id {strange} is forbidden, this model has 0 to {vocab_size - 1}: it belongs to another "
                f"model"
            )

    def check_limit(self, limit: int) -> None:
        """Check that a translation can end.

        Args:
            limit: largest number of tokens of the translation, `</s>` included.

        Raises:
            ValueError: the least number of tokens leaves no room for `</s>`.
        """
        if self.min_length >= limit:
            raise ValueError(
                f"min_length ({self.min_length}) leaves no room for the end: a translation of this text may have "
                f"{limit} tokens with it; give at most {limit - 1}"
            )


FREE = Constraints()  # nothing is forbidden


class Surfaces:
    """The bytes that each token of a vocabulary spells, and the tokens by them; those that spell nothing have none."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.of_token = [tokenizer.surface(token_id) for token_id in range(tokenizer.vocab_size)]
        spelling = sorted((surface, token_id) for token_id, surface in enumerate(self.of_token) if surface)
        self._surfaces, self._ids = [surface for surface, _ in spelling], [token_id for _, token_id in spelling]
        self.longest = max(map(len, self._surfaces), default=0)

    def spelling(self, text: bytes) -> list[int]:
        """Ids of the tokens that spell exactly this."""
        return self._ids[bisect_left(self._surfaces, text) : bisect_right(self._surfaces, text)]

    def beginning_with(self, text: bytes) -> list[int]:
        """Ids of the tokens that spell this, also with more behind it."""

        def start(surface: bytes) -> bytes:
            return surface[: len(text)]

        first, stop = (each(self._surfaces, text, key=start) for each in (bisect_left, bisect_right))
        return self._ids[first:stop]


@dataclass(frozen=True)
class Beginning:
    """What a translation begins with: tokens, and behind them a text, whatever its pieces.

    The last piece of the text may go beyond it: `Die Kin` begins *Die Kinder*.
    """

    token_ids: tuple[int, ...] = ()  # the tokens
    text: bytes = b""  # the bytes that the tokens after these spell, with the spaces of their marks
    # of the vocabulary; needed for a text only
    surfaces: Surfaces | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of_text(cls, token_ids: Sequence[int], surfaces: Surfaces, is_ended: bool) -> "Beginning":
        """A beginning that may end inside a word: its last word is a text, the words before it are tokens.

        Args:
            token_ids: of the text, as the tokenizer splits it.
            is_ended: whether the last word ends with the text, so that another one follows.
        """
        spelled = [surfaces.of_token[token_id] for token_id in token_ids]
        if is_ended:
            return cls(tuple(token_ids), b"" if not spelled or spelled[-1].endswith(b" ") else b" ", surfaces)
        start = len(spelled)  # of the last word, behind all tokens that spell nothing, such as `<unk>`
        while start and spelled[start - 1]:
            start -= 1
            if spelled[start].startswith(b" ") or (start and spelled[start - 1].endswith(b" ")):
                break
        return cls(tuple(token_ids[:start]), b"".join(spelled[start:]).rstrip(b" "), surfaces)

    def allowed(self, token_ids: Sequence[int], room: float = math.inf) -> Sequence[int] | None:
        """Ids of the tokens that may follow some others; None if all may.

        Args:
            room: number of tokens in which the text has to be complete.
        """
        position = len(token_ids)
        if position < len(self.token_ids):
            return self.token_ids[position : position + 1]
        rest = self._rest(token_ids)
        if not rest:
            return None
        return [token_id for token_id, further in self._fitting[len(self.text) - len(rest)] if 1 + further <= room]

    def complete(self, token_ids: Sequence[int]) -> tuple[int, ...]:
        """The first of the tokens that are needed for the whole beginning."""
        lengths = range(len(self.token_ids), len(token_ids))
        return tuple(token_ids[: next((length for length in lengths if not self._rest(token_ids[:length])), None)])

    @property
    def least_tokens(self) -> float:
        """Least number of tokens that it takes; infinite if the vocabulary cannot spell it."""
        return len(self.token_ids) + (_fewest(self._fitting[0]) if self.text else 0)

    def _rest(self, token_ids: Sequence[int]) -> bytes:
        """What remains of the text behind some tokens."""
        if not self.text:
            return b""
        assert self.surfaces is not None
        return self.text[sum(len(self.surfaces.of_token[each]) for each in token_ids[len(self.token_ids) :]) :]

    @cached_property
    def _fitting(self) -> list[list[tuple[int, float]]]:
        """Tokens that go on with the text from each of its bytes, with the fewest tokens that follow until its end."""
        assert self.surfaces is not None
        found: list[list[tuple[int, float]]] = []  # from the last byte on
        for start in reversed(range(len(self.text))):
            rest = self.text[start:]
            fitting = [(token_id, 0.0) for token_id in self.surfaces.beginning_with(rest)]
            for length in range(1, min(len(rest), self.surfaces.longest + 1)):
                further = _fewest(found[len(rest) - length - 1])
                fitting += [(token_id, further) for token_id in self.surfaces.spelling(rest[:length])]
            found.append(fitting)
        return found[::-1]


def _fewest(fitting: Sequence[tuple[int, float]]) -> float:
    """The least number of tokens, one of these included."""
    return min((1 + further for _, further in fitting), default=math.inf)


def forbidden_token(text: str, tokenizer: Tokenizer) -> Forbidden:
    """Read a token to forbid, a word or a piece's name: `unter` at every position, `3:unter` as the third only.

    Raises:
        ValueError: the text is not a single token.
    """
    numbered = re.fullmatch(r"([1-9][0-9]{0,3}):(.+)", text)
    position, name = (int(numbered[1]) - 1, numbered[2]) if numbered else (None, text)
    token_ids = tokenizer.encode(name)
    if len(token_ids) == 1:
        return Forbidden(token_ids[0], position)
    try:
        return Forbidden(tokenizer.token_id(name), position)
    except ValueError:
        pieces = " ".join(tokenizer.pieces(token_ids)) or "none"
    raise ValueError(
        f"{name!r} has {len(token_ids)} tokens ({pieces}), and a single one can be forbidden: give one of them"
    )
