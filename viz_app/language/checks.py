"""What is missing or wrong in the texts of a language."""

import string
from collections.abc import Iterable, Iterator

from babel.messages.catalog import Catalog, Message

MARKUP = ("**", "`", "$")


def missing(catalog: Catalog) -> list[str]:
    """Return the English texts that have no translation, or only a guess that nobody has checked."""
    return [_forms(each.id)[0] for each in texts(catalog) if each.fuzzy or not all(_forms(each.string))]


def faults(catalog: Catalog) -> Iterator[str]:
    """Describe translations with other values or markup than the English text, or with too few or too many forms."""
    for message in texts(catalog):
        english, own = _forms(message.id), _forms(message.string)
        if message.fuzzy or not any(own):
            continue
        expected = catalog.num_plurals if message.pluralizable else 1
        if len(own) != expected or not all(form.strip() for form in own):
            yield f"{len([form for form in own if form.strip()])} forms instead of {expected}: {english[0]!r}"
            continue
        if value_names(own[-1:]) != value_names(english[-1:]) or not value_names(own) <= value_names(english):
            yield f"values {sorted(value_names(own))} instead of {sorted(value_names(english))}: {english[0]!r}"
        for mark in MARKUP:
            if any(form.count(mark) != english[-1].count(mark) for form in own):
                yield f"not as many {mark} as in English: {english[0]!r}"


def texts(catalog: Catalog) -> Iterator[Message]:
    """Return the messages of a catalogue without its header."""
    return (message for message in catalog if message.id)


def value_names(forms: Iterable[str]) -> set[str]:
    """Return the names in braces; None for a text whose braces stand for themselves, such as a formula."""
    names: set[str] = set()
    for form in forms:
        try:
            fields = [name for _, name, _, _ in string.Formatter().parse(form) if name is not None]
        except ValueError:
            return set()
        names |= {name for name in fields if name.isidentifier()}
    return names


def _forms(text: str | Iterable[str] | None) -> list[str]:
    return [text or ""] if text is None or isinstance(text, str) else list(text)
