"""The texts of the interface, and those that the catalogues lack.

They are collected from the code.
"""

import ast
import json
import re
import string
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from viz_app.language import Catalogue

ROOT = Path(__file__).parents[2]
_IN_PYTHON = re.compile(r"\b(?:tr|tr_count|marked)\(")
_IN_SCRIPT = re.compile(r'\btr\(\s*("(?:[^"\\]|\\.)*")')
_COUNT_IN_SCRIPT = re.compile(r'\btrCount\(\s*("(?:[^"\\]|\\.)*"),\s*("(?:[^"\\]|\\.)*")')


@cache
def interface_texts() -> Mapping[str, list[str]]:
    """Return the forms of all English texts, by the key of the catalogues.

    They are collected once. A text has one form; one that depends on a number has that for one and that for others,
    which is also its key.
    """
    texts: dict[str, list[str]] = {}
    for path in sorted((ROOT / "viz_app").rglob("*.py")):
        texts |= {forms[-1]: forms for forms in python_texts(path.read_text(encoding="utf-8"))}
    for folder in ("viz_app", "core/drawing"):
        for path in sorted((ROOT / folder).rglob("*.js")):
            if "vendor" not in path.parts:
                texts |= {forms[-1]: forms for forms in script_texts(path.read_text(encoding="utf-8"))}
    return texts


def python_texts(source: str) -> Iterator[list[str]]:
    """Find the literals that are arguments of `tr`, `tr_count` and `marked`."""
    if not _IN_PYTHON.search(source):
        return  # as half of the modules, which need not be parsed
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(ast.Name("tr" | "marked"), [ast.Constant(str(text)), *_]):
                yield [text]
            case ast.Call(ast.Name("tr_count"), [ast.Constant(str(one)), ast.Constant(str(other)), *_]):
                yield [one, other]
            case _:
                pass


def script_texts(source: str) -> Iterator[list[str]]:
    """Find the literals that are arguments of `tr` and `trCount` in JavaScript."""
    for found in _IN_SCRIPT.finditer(source):
        yield [json.loads(found[1])]
    for found in _COUNT_IN_SCRIPT.finditer(source):
        yield [json.loads(found[1]), json.loads(found[2])]


def problems(catalogue: Catalogue) -> Iterator[str]:
    """Describe missing and superfluous texts, and those with other value names."""
    texts = interface_texts()
    for key, forms in texts.items():
        if key not in catalogue:
            yield f"missing: {key!r}"
            continue
        own = catalogue[key]
        if isinstance(own, str) != (len(forms) == 1):
            yield f"one form in place of several, or several in place of one: {key!r}"
        found = [own] if isinstance(own, str) else own
        if not all(form.strip() for form in found):
            yield f"empty: {key!r}"
        if value_names(found[-1:]) != value_names([key]) or not value_names(found) <= value_names(forms):
            yield f"other values than {sorted(value_names(forms))}: {key!r}"
    yield from (f"not in the code: {key!r}" for key in catalogue if key not in texts)


def value_names(forms: Iterable[str]) -> set[str]:
    """Return the names in braces.

    None for a text whose braces stand for themselves, such as a formula.
    """
    names: set[str] = set()
    for form in forms:
        try:
            fields = [name for _, name, _, _ in string.Formatter().parse(form) if name is not None]
        except ValueError:
            return set()
        names |= {name for name in fields if name.isidentifier()}
    return names
