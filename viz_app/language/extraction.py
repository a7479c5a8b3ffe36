"""The English texts of the app, and of what it shows of `core`, collected from the code by Babel."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import IO, Any

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir

from viz_app.language import unwrapped
from viz_app.language.catalogue_files import DOMAIN

ROOT = Path(__file__).parents[2]
# functions, and which of their arguments are texts: the first, or one for 1 and one for other numbers, or the second
KEYWORDS: Mapping[str, tuple[int, ...] | None] = {
    "tr": None,
    "marked": None,
    "RefusedError": None,
    "ModelError": None,
    "tr_count": (1, 2),
    "trCount": (1, 2),
    "Phrase": None,
    "listed": (2,),  # of `core`
}
IN_TEMPLATES = {"**.js": {"parse_template_string": "true"}}
Messages = Iterator[tuple[int, str, tuple[str | None, ...], list[str]]]


@cache
def template() -> Catalog:
    """Return the catalogue of all English texts, each with the files that have it."""
    python = ("**.py", f"{__name__}:{python_messages.__name__}")
    script = ("**.js", "javascript")
    methods = {
        "viz_app": [("**/vendor/**", "ignore"), python, script],
        "core": [python],
        "core/drawing": [script],
        "web": [python, script],
        "docs/gallery": [python],
    }
    catalog = Catalog(domain=DOMAIN)
    for folder, methods_of_folder in methods.items():
        messages = extract_from_dir(ROOT / folder, methods_of_folder, IN_TEMPLATES, KEYWORDS)
        for file, _, message, _, _ in sorted(messages, key=lambda each: each[:2]):
            forms = (message,) if isinstance(message, str) else message
            one, *other = map(unwrapped, forms)
            catalog.add((one, *other) if other else one, locations=[(f"{folder}/{file}", 0)])
    return catalog


def python_messages(
    file: IO[bytes], keywords: Mapping[str, Any], comment_tags: Collection[str], options: Mapping[str, Any]
) -> Messages:
    """Find the literals that are arguments of functions in Python, also within f-strings, as an extractor of Babel.

    An argument that is one literal or another, by a condition, gives both.
    """
    source = file.read().decode("utf-8")
    if not re.search(rf"\b(?:{'|'.join(keywords)})\(", source):
        return  # as half of the modules, which need not be parsed
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(ast.Name(name), arguments) if name in keywords:
                for literals in product(*map(_literals, arguments[:2])):
                    yield node.lineno, name, literals, []
            case _:
                pass


def _literals(argument: ast.expr) -> list[str | None]:
    match argument:
        case ast.Constant(str(text)):
            return [text]
        case ast.IfExp(_, first, second):
            return [*_literals(first), *_literals(second)]
        case _:
            return [None]
