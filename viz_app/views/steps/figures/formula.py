"""Formulas: the part of LaTeX that the pages need, as a tree of MathML tags, which `step_formula.js` draws.

Browsers themselves draw MathML well only where a font with mathematical metrics is installed.
"""

import re
from typing import Any

MathTree = list[Any]  # tag, then text or children: ["msub", ["mi", "x"], ["mn", "1"]]

SYMBOLS = {
    "alpha": "\u03b1",
    "beta": "\u03b2",
    "epsilon": "\u03b5",
    "gamma": "\u03b3",
    "mu": "\u03bc",
    "phi": "\u03c6",
    "sigma": "\u03c3",
    "infty": "\u221e",
}
OPERATORS = {"cdot": "\u22c5", "leftarrow": "\u2190", "ldots": "\u2026", "leq": "\u2264", "sum": "\u2211"}
NAMES = ("exp", "log", "max", "sin")
_TOKEN = re.compile(r"\\([a-zA-Z]+|,)|(\d+(?:\.\d+)?)|([a-zA-Z])|([{}_^])|(\S)")


def math_tree(latex: str) -> MathTree:
    r"""Return a formula as a tree.

    Args:
        latex: letters, numbers, operators, `_`, `^`, `{}`, `\frac`, `\sqrt`, `\mathrm`, and the names above.

    Raises:
        ValueError: something else is in it.
    """
    tokens = list(_TOKEN.finditer(latex))
    row = _row(tokens, latex)
    if tokens:
        raise ValueError(f"cannot read the formula {latex!r}: a closing brace too many")
    return ["math", *row]


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
        return ["mn", number]
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
