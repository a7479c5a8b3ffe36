"""Phrases of `core` in the language of the visitor.

A module of its own, as `core` takes seconds to import, and the first frame of the app has texts before.
"""

from core.text.phrases import Number, Phrase
from viz_app.language import tr
from viz_app.language.numbers import localized


def translated(text: str) -> str:
    """Return a phrase or a number of `core` in the visitor's language.

    Other text, such as a name from a file, is returned unchanged.
    """
    if isinstance(text, Number):
        return localized(text.value, text.spec)
    if not isinstance(text, Phrase):
        return text
    return tr(text.words, **{name: translated(value) for name, value in text.values.items()})
