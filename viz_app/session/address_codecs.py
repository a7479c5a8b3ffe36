"""How the values of settings are written in the address."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:  # imports torch
    from core.trace import Head

T = TypeVar("T")


@dataclass(frozen=True)
class Codec(Generic[T]):
    """The texts of a value in the address, and the value of texts."""

    encode: Callable[[T], list[str]]  # returns the texts, several of which repeat the parameter
    decode: Callable[[Sequence[str]], T]  # reads one or more texts. It raises a ValueError if no value is written so
    values: Sequence[T] = ()  # all that there are, if they are few


def single(encode: Callable[[T], str], decode: Callable[[str], T]) -> Codec[T]:
    """Return the codec of values with one text; of a repeated parameter the last one counts."""
    return Codec(lambda value: [encode(value)], lambda texts: decode(texts[-1]))


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return number


def _integer(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,9}", text):
        raise ValueError(f"{text:.40} is not a whole number of at most 9 digits")
    return int(text)


def _is_on(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text:.40} is neither true nor false")
    return text.lower() == "true"


def _head(text: str) -> "Head":
    from core.trace import parse_head

    return parse_head(text)


TEXT: Codec[str] = single(str, str)
HEAD: "Codec[Head]" = single(str, _head)
INTEGER: Codec[int] = single(str, _integer)
NUMBER: Codec[float] = single(lambda value: f"{value:.12g}", _number)
SWITCH: Codec[bool] = single(lambda value: str(value).lower(), _is_on)
# a position, counted from 0 in the program and from 1 in the address
COUNTED: Codec[int] = single(lambda value: str(value + 1), lambda text: _integer(text) - 1)


def choice(values: Mapping[str, T]) -> Codec[T]:
    """Return the codec of one of a few values, each with its identifier."""
    identifiers: dict[Any, str] = {value: identifier for identifier, value in values.items()}

    def decode(text: str) -> T:
        if text not in values:
            raise ValueError(f"{text:.40} is none of {', '.join(values)}")
        return values[text]

    return replace(single(identifiers.__getitem__, decode), values=tuple(values.values()))


def dotted(*first: int | None) -> Codec[tuple[Any, ...]]:
    """Return the codec of numbers joined by dots, each counted in the address from one of `first`; None: a name."""

    def decode(text: str) -> tuple[Any, ...]:
        parts = text.split(".")
        if len(parts) != len(first):
            raise ValueError(f"{text:.40} has {len(parts)} parts, expected {len(first)}")
        found = [part if start is None else _integer(part) - start for part, start in zip(parts, first, strict=True)]
        if any(isinstance(each, int) and each < 0 for each in found):
            raise ValueError(f"{text:.40} has a number below {first}")
        return tuple(found)

    def encode(value: tuple[Any, ...]) -> str:
        return ".".join(str(each if start is None else each + start) for each, start in zip(value, first, strict=True))

    return single(encode, decode)


def several(codec: Codec[T]) -> Codec[list[T]]:
    """Return the codec of a list, for each item of which the parameter is repeated; an empty list has an empty text."""
    return Codec(
        lambda values: [text for value in values for text in codec.encode(value)] or [""],
        lambda texts: [codec.decode([text]) for text in texts if text],
    )
