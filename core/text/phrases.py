"""English texts that keep their parts, so that they can be translated."""

from collections.abc import Sequence
from functools import reduce
from typing import Self, TypeVar

Text = TypeVar("Text", bound=str)


def marked(text: Text) -> Text:
    """Mark a literal for the app's catalogues, and return it.

    For words of a `Phrase`, and for other texts that the app shows, which stand elsewhere than where they are used.
    """
    return text


class Phrase(str):
    """An English text: words with values in place of their `{names}`.

    Attributes:
        words: with the names.
        values: texts by name; those that are phrases have words of their own.
    """

    words: str
    values: dict[str, str]

    def __new__(cls, words: str, /, **values: str) -> Self:
        phrase = super().__new__(cls, words.format(**values) if values else words)
        phrase.words, phrase.values = words, values
        return phrase


def listed(parts: Sequence[str], words: str = marked("{first}, {rest}")) -> str:
    """Join texts, one at least, by the words between the first and the rest."""
    return reduce(lambda rest, first: Phrase(words, first=first, rest=rest), reversed(parts))
