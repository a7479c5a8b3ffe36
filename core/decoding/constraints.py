"""Constraints of a search: tokens that it may not write, in some places or in all.

A forbidden token is left out of the candidates; the log-probabilities of the others stay the model's own.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

from core.files.number_range import NumberRange
from core.text.tokenizer import Tokenizer


class Forbidden(NamedTuple):
    """A token that is not generated.

    Attributes:
        position: number of tokens before it, from 0; None for every position.
    """

    token_id: int
    position: int | None = None


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """Constraints of a search for one token after the other.

    Attributes:
        min_length: least number of tokens before `</s>`, which is forbidden until then. For over half of the sentences
            of WMT'15 English to German the most probable translation of all is the empty one, which a beam of ordinary
            size does not find (Stahlberg & Byrne 2019).
        forbidden: tokens that are not generated. Their text may still be written with other tokens.

    Raises:
        ValueError: a value is out of range.
    """

    min_length: int = 0
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


def forbidden_token(text: str, tokenizer: Tokenizer) -> Forbidden:
    """Read a token to forbid: `unter` at every position, `3:unter` as the third token only.

    Args:
        text: a word of one token or, if it is none, the name of a piece within words.

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
