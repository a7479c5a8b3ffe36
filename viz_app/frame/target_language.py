"""The target language of a model with several.

It is the code, such as `>>fra<<`, that begins a sentence.
"""

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from viz_app.language import tr
from viz_app.session import readings
from viz_app.session.language_codes import code_of, codes_of, with_code, with_target
from viz_app.session.models import Model
from viz_app.session.state import Widget, session_object

LANGUAGE = Widget[str | None]("target_language")


@dataclass
class LanguageCodes:
    """Codes of the current model and of the model before it.

    None if the current one has one target language.

    Attributes:
        last: the last one selected.
    """

    current: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    last: str = ""


def complete_sentence() -> None:
    """Begin a sentence without a code with one if the model needs it.

    The code of the model before is dropped. Call it before the sentence is drawn.
    """
    if (text := readings.TEXT.value) is not None:
        readings.TEXT.set(completion()(text))


def completion() -> Callable[[str], str]:
    """Return a function that does the same to any text.

    It needs no visitor.
    """
    codes = session_object(LanguageCodes)
    return lambda text: with_code(text, codes.current, codes.before, codes.last)


def language_box(model: Model) -> None:
    """Select the target language, if the model has several.

    The code at the start of the sentence changes.
    """
    codes, found = session_object(LanguageCodes), codes_of(model)
    if found != codes.current:
        codes.before, codes.current = codes.current, found
    text = readings.TEXT.value or ""
    if completion()(text) != text:
        st.rerun()
    if found:
        LANGUAGE.set(code_of(text, found) or None)
        st.selectbox(
            tr("Target language"),
            found,
            None,
            format_func=lambda code: code.strip("<>"),
            key=LANGUAGE.key,
            required=True,
            placeholder=tr("Select"),
            on_change=_select,
            help=tr("A code at the start of the sentence names the language to translate to."),
        )


def _select() -> None:
    codes, code, text = session_object(LanguageCodes), LANGUAGE.value, readings.TEXT.value or ""
    if code is not None:
        codes.last = code
        readings.new_sentence(with_target(text, codes.current, code))
