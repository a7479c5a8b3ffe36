"""Texts of the interface in the language of the visitor.

English texts stand in the code, as arguments of `tr`, `tr_count` and `marked`. Each other language has a catalogue,
`catalogues/CODE.json`, from the English texts to its own. `python -m viz_app.language` and a test report texts that the
catalogues lack, or have without need.

Not translated: messages of `core` about faulty files and input, columns of exported tables, scripts, and pages that
`core` exports.
"""

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from threading import local
from typing import Any, TypeVar

ENGLISH = "en"
LANGUAGES = {
    ENGLISH: "English",
    "zh": "\u4e2d\u6587",
    "ko": "\ud55c\uad6d\uc5b4",
    "de": "Deutsch",
}  # own names, by code
IN_ADDRESS = "language"  # the query parameter that names one
CATALOGUES = Path(__file__).parent / "catalogues"
K = TypeVar("K")
R = TypeVar("R")
Text = TypeVar("Text", bound=str)
Catalogue = Mapping[str, str | list[str]]  # a list: the forms for one and for another number


@dataclass
class VisitorLanguage:
    """The code of a visitor's language."""

    code: str = ENGLISH


@dataclass
class _Visitors:
    """How the visitor is found: `viz_app.session.language` says it.

    Attributes:
        run: returns what stands for the run of a page in this thread; None outside of one.
        visitor: returns the language of the visitor of the current run.
    """

    run: Callable[[], object] = lambda: None
    visitor: Callable[[], VisitorLanguage] = VisitorLanguage


class _Run(local):
    """The run of this thread, and its visitor: a page asks hundreds of times."""

    current: object = None
    visitor = VisitorLanguage()


_visitors, _run = _Visitors(), _Run()
_kept: ContextVar[str | None] = ContextVar("language", default=None)  # where there is no visitor, see `speaking`


def use_visitors(run: Callable[[], object], visitor: Callable[[], VisitorLanguage]) -> None:
    """Set the functions that find the visitor, see `_Visitors`."""
    _visitors.run, _visitors.visitor = run, visitor


def language() -> str:
    """Return the code of the current visitor's language.

    Outside the app that is English.
    """
    if kept := _kept.get():
        return kept
    if (run := _visitors.run()) is None:
        return ENGLISH
    if run is not _run.current:
        _run.current, _run.visitor = run, _visitors.visitor()
    return _run.visitor.code


def language_of_visit(address: Mapping[str, str], browser: str) -> str:
    """Return the code of the language in which a visit begins.

    It is that of the address or, without one, of the browser.

    Links hold the names of selected options, which are in the language of the visitor who copied them, so they hold
    the language too unless it is English.

    Args:
        address: its query parameters.
        browser: the tag of the language that the browser prefers, such as `de-AT`; "" if that is not known.
    """
    wanted = address.get(IN_ADDRESS, "") if address else browser.partition("-")[0].lower()
    return wanted if wanted in LANGUAGES else ENGLISH


@contextmanager
def speaking(code: str) -> Iterator[None]:
    """Set the language where there is no visitor.

    That is in other threads, and before the first run.
    """
    token = _kept.set(code)
    try:
        yield
    finally:
        _kept.reset(token)


def in_this_language(function: Callable[[], R]) -> Callable[[], R]:
    """Return a function that runs in the current visitor's language.

    For downloads: Streamlit makes them in a thread that knows no visitor.
    """
    code = language()

    def run() -> R:
        with speaking(code):
            return function()

    return run


def tr(text: str, /, **values: Any) -> str:
    """Return a text in the visitor's language, with values in place of its `{names}`.

    A text that no catalogue has, such as a token, stays as it is.

    Args:
        text: English; a literal, or a constant whose literal is `marked`.
        values: without any, braces in the text are themselves.
    """
    found = catalogue(language()).get(text, text)
    found = found if isinstance(found, str) else found[-1]
    return found.format(**values) if values else found


def tr_count(one: str, other: str, count: int, /, **values: Any) -> str:
    """Return a text that depends on a number, in the visitor's language.

    Args:
        one, other: English for 1 and for all other numbers; both literals, with `{count}` where the number stands.
    """
    found = catalogue(language()).get(other, [one, other])
    forms = [found] if isinstance(found, str) else found
    return (forms[0] if count == 1 else forms[-1]).format(count=count, **values)


def marked(text: Text) -> Text:
    """Mark a literal for the catalogues, and return it.

    `tr` translates it where it is shown. For constants, which exist before any visitor.
    """
    return text


def tr_values(names: Mapping[K, str]) -> dict[K, str]:
    """Return names in the visitor's language, by the same keys."""
    return {key: tr(name) for key, name in names.items()}


def tr_lower(name: str) -> str:
    """Return a name as it stands within a sentence.

    In English it is in lower case, in other languages as it is.
    """
    return name.lower() if language() == ENGLISH else tr(name)


@functools.cache
def catalogue(code: str) -> Catalogue:
    """Read the catalogue of a language; that of English is empty."""
    return {} if code == ENGLISH else json.loads((CATALOGUES / f"{code}.json").read_text(encoding="utf-8"))


def texts_for_script(names: tuple[str, ...]) -> dict[str, str | list[str]]:
    """Return the texts of a script in the visitor's language, by their English.

    Texts that are the same in that language are left out.
    """
    found = catalogue(language())
    return {name: found[name] for name in names if name in found}
