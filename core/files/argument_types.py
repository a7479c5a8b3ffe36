"""Types of arguments, checked whatever their annotations say: an error names what was given, and what fits."""

from collections.abc import Iterable
from operator import index
from os import PathLike
from pathlib import Path
from typing import Any


def wrong_type(name: str, value: object, fitting: str) -> TypeError:
    """Return the error for an argument of a wrong type."""
    return TypeError(f"{name} ({value!r:.60}) is of type {type(value).__name__}: give {fitting}")


def require_type(name: str, value: object, types: type | tuple[type, ...], fitting: str) -> None:
    """Check the type of an argument.

    Raises:
        TypeError: it is another.
    """
    if not isinstance(value, types):
        raise wrong_type(name, value, fitting)


def items(name: str, value: Any, fitting: str) -> list[Any]:
    """Return the items of an argument, which is no text.

    Raises:
        TypeError: it has none.
    """
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise wrong_type(name, value, fitting)
    return [*value]


def integers(name: str, value: object, fitting: str) -> list[int]:
    """Return the items of an argument as integers.

    Raises:
        TypeError: one is none.
    """
    try:
        return [index(each) for each in items(name, value, fitting)]
    except TypeError as error:
        raise wrong_type(name, value, fitting) from error


def path_of(path: str | PathLike[str], fitting: str = "the path of a file, as a text or a Path") -> Path:
    """Return an argument as a path.

    Raises:
        TypeError: it is none.
    """
    require_type("the path", path, (str, PathLike), fitting)
    return Path(path)
