"""Numbers as the visitor's language writes them: 8,000 is 8.000 in German, 13.1 million 1310 万 in Chinese.

They are for reading. Files, addresses, scripts and keys have the numbers of Python.
"""

import functools
import re
from numbers import Integral, Real
from typing import Any, NamedTuple

import viz_app.language
from viz_app.language.catalogue_files import ENGLISH

MINUS, INFINITY, NO_BREAK = "\u2212", "\u221e", "\u00a0"
CLOSE_TO_UNIT = {"ko"}  # languages that write no space between a number and its unit of a million


class Symbols(NamedTuple):
    """Marks in the numbers of a language, and what follows a percentage."""

    decimal: str = "."
    group: str = ","
    percent: str = "%"


@functools.cache
def symbols(code: str) -> Symbols:
    """Return the symbols of a language."""
    if code == ENGLISH:
        return Symbols()
    from babel import Locale
    from babel.numbers import get_decimal_symbol, get_group_symbol

    return Symbols(get_decimal_symbol(code), get_group_symbol(code), Locale(code).percent_formats[None].suffix[0])


def localized(value: float, spec: str = "") -> str:
    """Format a number in the visitor's language, with a real minus sign.

    Args:
        spec: As for Python's `format`: `,.2f`, `+.3f`, `.0%`, `.3g`; by default an integer has marks of thousands.
    """
    return in_symbols(format(value, spec or ("," if isinstance(value, Integral) else "")))


def in_symbols(text: str) -> str:
    """Put a number that Python or matplotlib has written into the visitor's language."""
    return text.translate(_replacements(viz_app.language.language())).replace("inf", INFINITY)


@functools.cache
def _replacements(code: str) -> dict[int, str]:
    own = symbols(code)
    return str.maketrans({",": own.group, ".": own.decimal, "-": MINUS, "%": own.percent})


def compact(value: float) -> str:
    """Format a large number in the visitor's language by three digits and a unit: 13,1 Mio., 1310 万, 1,310만."""
    from babel.numbers import format_compact_decimal

    code = viz_app.language.language()
    rounded = float(f"{value:.3g}")
    short = format_compact_decimal(rounded, locale=code, fraction_digits=2)
    digits, unit = re.fullmatch(r"(.*\d)(\D*)", short).groups()  # pyright: ignore[reportOptionalMemberAccess]
    if not unit:
        return localized(rounded, ",.0f" if rounded >= 1000 else ".3g")
    if code in CLOSE_TO_UNIT:
        return f"{int(digits):,}{unit}" if digits.isdigit() else short
    return f"{digits}{NO_BREAK}{unit.strip()}"


class Readable:
    """A number that is formatted in the visitor's language wherever it stands in a text."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __format__(self, spec: str) -> str:
        return localized(self.value, spec)

    def __str__(self) -> str:
        return localized(self.value)

    def __repr__(self) -> str:
        return repr(self.value)


def readable_numbers(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a text, with its numbers in the visitor's language."""
    return {
        name: Readable(value) if isinstance(value, Real) and not isinstance(value, bool) else value
        for name, value in values.items()
    }
