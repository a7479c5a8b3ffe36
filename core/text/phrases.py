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


class Number(str):
    """A number as English text that keeps its value, so that other languages can write it in their way."""

    value: float  # the number
    spec: str  # its form, as for `format`, such as `,` or `.0%`

    def __new__(cls, value: float, spec: str) -> Self:
        number = super().__new__(cls, format(value, spec))
        number.value, number.spec = value, spec
        return number


def numbers(values: Sequence[float], spec: str) -> list[Number]:
    """Numbers of one form."""
    return [Number(value, spec) for value in values]


class Phrase(str):
    """An English text: words with values in place of their `{names}`."""

    words: str  # with the names
    values: dict[str, str]  # texts by name; those that are phrases have words of their own, and a `Number` its value

    def __new__(cls, words: str, /, **values: str) -> Self:
        phrase = super().__new__(cls, words.format(**values) if values else words)
        phrase.words, phrase.values = words, values
        return phrase


def listed(parts: Sequence[str], words: str = marked("{first}, {rest}")) -> str:
    """Join texts, one at least, by the words between the first and the rest."""
    return reduce(lambda rest, first: Phrase(words, first=first, rest=rest), reversed(parts))
