"""Formulas: the part of LaTeX that the pages need, as a tree of MathML tags, which `step_formula.js` draws.

Browsers themselves draw MathML well only where a font with mathematical metrics is installed.
"""

import re
from typing import Any

from viz_app.language import MINUS, localized

MathTree = list[Any]  # tag, then text or children: ["msub", ["mi", "x"], ["mn", "1"]]

SYMBOLS = {
    "alpha": "\u03b1",
    "beta": "\u03b2",
    "delta": "\u03b4",
    "epsilon": "\u03b5",
    "gamma": "\u03b3",
    "mu": "\u03bc",
    "phi": "\u03c6",
    "sigma": "\u03c3",
    "infty": "\u221e",
    "partial": "\u2202",
}
OPERATORS = {
    "cdot": "\u22c5",
    "leftarrow": "\u2190",
    "ldots": "\u2026",
    "leq": "\u2264",
    "rightarrow": "\u2192",
    "sum": "\u2211",
}
SUPERSCRIPTS = str.maketrans("-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079")
NAMES = ("exp", "log", "max", "min", "sin")
_TOKEN = re.compile(r"\\([a-zA-Z]+|,)|(\d+(?:(?:\.|\{,\})\d+)?)|([a-zA-Z])|([{}_^])|(\S)")


def math_tree(latex: str) -> MathTree:
    r"""Return a formula as a tree: of letters, numbers (a decimal comma is `{,}`), operators, `_`, `^`, `{}`, `\frac`,
    `\sqrt`, `\hat`, `\mathrm`, and the names above.

    Raises:
        ValueError: something else is in it.
    """
    tokens = list(_TOKEN.finditer(latex))
    row = _row(tokens, latex)
    if tokens:
        raise ValueError(f"cannot read the formula {latex!r}: a closing brace too many")
    return ["math", *row]


def math_number(value: float, digits: int = 4, *, in_product: bool = False) -> str:
    r"""Return a number as a formula in the visitor's language, such as `1{,}2 \cdot 10^{5}` in German.

    Its digits are significant ones; in a product, after an operator, a negative number has brackets.
    """
    written, power = _written(value, digits)
    number = _signed(written.replace(MINUS, "-").replace(",", "{,}"))
    number += rf" \cdot 10^{{{_signed(str(power))}}}" if power else ""
    return f"({number})" if in_product and value < 0 else number


def number_text(value: float, digits: int = 4) -> str:
    """Return a number as a text in the visitor's language, such as `1,2 \u00b7 10\u207b\u2075` in German."""
    written, power = _written(value, digits)
    return written + (f" \u00b7 {power_of_10(power)}" if power else "")


def power_of_10(power: int) -> str:
    """Return a power of ten as a text."""
    return "10" + str(power).translate(SUPERSCRIPTS)


def _written(value: float, digits: int) -> tuple[str, int]:
    """Return a number with its significant digits, of a very small or large one those before a power of 10."""
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    is_plain = -5 < int(exponent) < 6
    return localized(value if is_plain else float(mantissa), f".{digits}g"), 0 if is_plain else int(exponent)


def _signed(number: str) -> str:
    """A number whose sign stands close to it, unlike that of a difference."""
    return rf"\mathrm{{{number}}}" if number.startswith("-") else number


def math_text(tree: MathTree) -> str:
    """Return the text of a formula, for screen readers."""
    return "".join(each if isinstance(each, str) else math_text(each) for each in tree[1:])


def _row(tokens: list[re.Match[str]], latex: str) -> list[MathTree]:
    """Take elements up to a closing brace or the end, with sub- and superscripts on the element before them."""
    row: list[MathTree] = []
    while tokens and tokens[0][0] != "}":
        if tokens[0][0] not in ("_", "^"):
            row.append(_element(tokens, latex))
            continue
        tag = "msub" if tokens.pop(0)[0] == "_" else "msup"
        base, script = row.pop(), _element(tokens, latex)
        if base[0] == "msub" and tag == "msup":
            row.append(["msubsup", *base[1:], script])
        elif base == ["mo", OPERATORS["sum"]]:
            row.append(["munder", base, script])
        else:
            row.append([tag, base, script])
    return row


def _element(tokens: list[re.Match[str]], latex: str) -> MathTree:
    if not tokens:
        raise ValueError(f"cannot read the formula {latex!r}: it ends too early")
    command, number, letter, brace, operator = tokens.pop(0).groups()
    if number:
        return ["mn", number.replace("{,}", ",")]
    if letter:
        return ["mi", letter]
    if brace == "{":
        row = _row(tokens, latex)
        if not tokens:
            raise ValueError(f"cannot read the formula {latex!r}: a closing brace is missing")
        tokens.pop(0)
        return row[0] if len(row) == 1 else ["mrow", *row]
    if operator:
        return ["mo", "\u2212" if operator == "-" else operator]
    match command:
        case "frac":
            return ["mfrac", _element(tokens, latex), _element(tokens, latex)]
        case "sqrt":
            return ["msqrt", _element(tokens, latex)]
        case "hat":
            return ["mover", _element(tokens, latex), ["mo", "\u02c6"]]
        case "mathrm":
            return ["mi", math_text(["mrow", _element(tokens, latex)])]
        case ",":
            return ["mtext", "\u2003"]
        case _ if command in SYMBOLS:
            return ["mi", SYMBOLS[command]]
        case _ if command in OPERATORS:
            return ["mo", OPERATORS[command]]
        case _ if command in NAMES:
            return ["mi", command]
        case _:
            raise ValueError(f"cannot read the formula {latex!r}: \\{command} is not known")
