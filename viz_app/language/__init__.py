"""Texts of the interface, and numbers in them, in the language of the visitor.

English texts stand in the code, as arguments of `tr`, `tr_count` and `marked`, and of `Phrase` in `core`. Each other
language has a gettext catalogue, `catalogues/CODE/LC_MESSAGES/headlight.po`, from the English texts to its own.
`python -m viz_app.language` brings the catalogues up to date and lists the texts that they lack, which show in English.

Not translated: `core`'s messages on faulty files and input, columns of exported tables, scripts, and `core`'s pages.

Numbers for reading are written as the language does: 8,000 is 8.000 in German, 13.1 million 1310 万 in Chinese. Files,
addresses, scripts and keys have the numbers of Python.
"""

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from numbers import Integral, Real
from threading import local
from typing import Any, NamedTuple, TypeVar

from viz_app.language.catalogue_files import ENGLISH, translations

LANGUAGES = {
    ENGLISH: "English",
    "zh": "\u4e2d\u6587",
    "ko": "\ud55c\uad6d\uc5b4",
    "de": "Deutsch",
}  # own names, by code
IN_ADDRESS = "language"  # the query parameter that names one
MINUS, INFINITY, NO_BREAK = "\u2212", "\u221e", "\u00a0"
CLOSE_TO_UNIT = {"ko"}  # languages that write no space between a number and its unit of a million
SAMPLES = range(200)  # numbers among which every plural form of a language occurs
K = TypeVar("K")
R = TypeVar("R")
Text = TypeVar("Text", bound=str)
ScriptText = tuple[str] | tuple[str, str]  # a text of a script; with two forms, for one and for other numbers


@dataclass
class VisitorLanguage:
    """The code of a visitor's language."""

    code: str = ENGLISH


@dataclass
class _Visitors:
    """How the visitor is found: `viz_app.session.state` says it."""

    # returns what stands for the run of a page in this thread; None outside of one
    run: Callable[[], object] = lambda: None
    visitor: Callable[[], VisitorLanguage] = VisitorLanguage  # returns the language of the visitor of the current run


class _Run(local):
    """The run of this thread, and its visitor, kept because a page needs it hundreds of times."""

    current: object = None
    visitor = VisitorLanguage()


_visitors, _run = _Visitors(), _Run()
_kept: ContextVar[str | None] = ContextVar("language", default=None)  # where there is no visitor, see `speaking`


def use_visitors(run: Callable[[], object], visitor: Callable[[], VisitorLanguage]) -> None:
    """Set the functions that find the visitor, see `_Visitors`."""
    _visitors.run, _visitors.visitor = run, visitor


def language() -> str:
    """Return the code of the current visitor's language, which is English outside the app."""
    if kept := _kept.get():
        return kept
    if (run := _visitors.run()) is None:
        return ENGLISH
    if run is not _run.current:
        _run.current, _run.visitor = run, _visitors.visitor()
    return _run.visitor.code


def language_of_visit(address: Mapping[str, str], browser: str) -> str:
    """Return the code of the language in which a visit begins: that of the address or, without one, of the browser.

    Links hold the names of selected options, which are in the language of the visitor who copied them, so they hold the
    language too unless it is English.

    Args:
        address: its query parameters.
        browser: the tag of the language that the browser prefers, such as `de-AT`; "" if that is not known.
    """
    wanted = address.get(IN_ADDRESS, "") if address else browser.partition("-")[0].lower()
    return wanted if wanted in LANGUAGES else ENGLISH


@contextmanager
def speaking(code: str) -> Iterator[None]:
    """Set the language where there is no visitor: in other threads, and before the first run."""
    token = _kept.set(code)
    try:
        yield
    finally:
        _kept.reset(token)


def in_this_language(function: Callable[[], R]) -> Callable[[], R]:
    """Return a function that runs in the current visitor's language.

    It is for downloads, which Streamlit makes in a thread without a visitor.
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
        values: numbers are written as in the visitor's language; without any values, braces in the text are themselves.
    """
    # the translation of "" is the header of the catalogue
    own = translations(language()).gettext(unwrapped(text)) if text else text
    if not all(isinstance(value, str) for value in values.values()):
        values = readable_numbers(values)
    return own.format(**values) if values else own


class ToldError(Exception):
    """An error whose message is a text in the visitor's language, with values, as of `tr`."""

    def __init__(self, text: str, /, **values: Any) -> None:
        """Take the message, in English."""
        super().__init__(tr(text, **values))


class RefusedError(ToldError, ValueError):
    """Something cannot be done as the visitor wants it."""


def tr_count(one: str, other: str, count: int, /, **values: Any) -> str:
    """Return a text that depends on a number, in the visitor's language.

    English for 1 and for all other numbers are both literals, with `{count}` where the number stands.
    """
    return translations(language()).ngettext(one, other, count).format(**readable_numbers({"count": count, **values}))


def marked(text: Text) -> Text:
    """Mark a literal for the catalogues, and return it.

    For constants, which exist before any visitor; `tr` translates them where they are shown.
    """
    return text


def unwrapped(text: str) -> str:
    """Return a text without the line breaks and the indentation of its literal.

    They are those of a block in triple quotes, after a line break. Each paragraph, and each point, becomes one line.
    """
    return _unwrapped_block(text) if text.startswith("\n") else text


@functools.cache
def _unwrapped_block(text: str) -> str:
    return re.sub(r"(?<!\n)\n(?!\n|[-*|] |\d+\. )", " ", inspect.cleandoc(text).strip())


def translated(text: str, named: Callable[[str], str] = lambda text: text) -> str:
    """Return a phrase or a number of `core` in the visitor's language.

    Other text, such as a name from a file, is returned as `named` writes it, by default unchanged.
    """
    from core.text.phrases import Number, Phrase  # `core` takes seconds to import: the first frame has texts before

    if isinstance(text, Number):
        return localized(text.value, text.spec)
    if not isinstance(text, Phrase):
        return named(text)
    return tr(text.words, **{name: translated(value, named) for name, value in text.values.items()})


def translated_all(texts: Iterable[str]) -> list[str]:
    """Return phrases and numbers of `core` in the visitor's language, as `translated` does each."""
    return [translated(text) for text in texts]


def tr_values(names: Mapping[K, str]) -> dict[K, str]:
    """Return names in the visitor's language, by the same keys."""
    return {key: tr(name) for key, name in names.items()}


def tr_lower(name: str) -> str:
    """Return a name for use within a sentence, in lower case in English, unchanged in other languages."""
    return name.lower() if language() == ENGLISH else tr(name)


def joined(parts: Iterable[str]) -> str:
    """List texts by the comma of the visitor's language; by its semicolon where a part has a comma, as in 0,5."""
    listed = list(parts)
    has_commas = any("," in part for part in listed)
    mark = tr("{first}; {rest}", first="", rest="") if has_commas else tr("{first}, {rest}", first="", rest="")
    return mark.join(listed)


def quoted(text: str) -> str:
    """Return a text in the quotation marks of the visitor's language."""
    return tr("\u201c{text}\u201d", text=text)


def capital(name: str) -> str:
    """Return a name with a capital at its beginning, as it stands alone; other languages may have none."""
    return name[:1].upper() + name[1:]


def texts_for_script(names: tuple[ScriptText, ...]) -> dict[str, Any]:
    """Return the texts of a script in the visitor's language, by their English, as `setTexts` of texts.js takes them.

    Texts that are the same in that language are left out. Of one that depends on a number there are all forms, by the
    category of `Intl.PluralRules`.
    """
    code = language()
    own, texts = translations(code), dict[str, str | dict[str, str]]()
    for english in names:
        if len(english) == 2:
            forms = {number: own.ngettext(*english, number) for number in SAMPLES}
            if not {*english}.issuperset(forms.values()):
                rule = _plural_rule(code)
                texts[english[0]] = {rule(number): form for number, form in forms.items()}
        elif (text := own.gettext(*english)) != english[0]:
            texts[english[0]] = text
    return {"language": code, "texts": texts}


@functools.cache
def _plural_rule(code: str) -> Callable[[int], str]:
    from babel import Locale

    return Locale(code).plural_form


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

    The form is as for Python's `format`: `,.2f`, `+.3f`, `.0%`, `.3g`; by default an integer has marks of thousands.
    """
    return all_in_symbols([format(value, spec or ("," if isinstance(value, Integral) else ""))])[0]


def all_in_symbols(texts: Iterable[str]) -> list[str]:
    """Put numbers that Python has written into the visitor's language."""
    marks = _replacements(language())
    return [text.translate(marks).replace("inf", INFINITY) for text in texts]


@functools.cache
def _replacements(code: str) -> dict[int, str]:
    own = symbols(code)
    return str.maketrans({",": own.group, ".": own.decimal, "-": MINUS, "%": own.percent})


def compact(value: float) -> str:
    """Format a large number in the visitor's language by three digits and a unit: 13,1 Mio., 1310 万, 1,310만."""
    from babel.numbers import format_compact_decimal

    code = language()
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
