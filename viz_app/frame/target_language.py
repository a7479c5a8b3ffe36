"""The target language of a model with several: the code, such as `>>fra<<`, that begins a sentence."""

from dataclasses import dataclass

import streamlit as st

from viz_app.language import tr
from viz_app.session import readings
from viz_app.session.language_codes import code_of, codes_of, with_code, with_target
from viz_app.session.models import Model
from viz_app.session.readings import Current
from viz_app.session.state import Widget, session_object

LANGUAGE = Widget[str | None]("target_language")


@dataclass
class LanguageCodes:
    """Codes of the current model and of the model before it; None if the current one has one target language."""

    current: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    last: str = ""  # the last one selected

    def complete(self, text: str) -> str:
        """Begin a text with a language code if the model needs one, and drop the code of the model before it."""
        return with_code(text, self.current, self.before, self.last)


def language_box(model: Model) -> None:
    """Select the target language, if the model has several, by changing the code at the start of the sentence.

    Call it with another model, and while `Current.complete` changes anything.
    """
    current, codes, choices = session_object(Current), session_object(LanguageCodes), codes_of(model)
    if choices != codes.current:
        codes.before, codes.current = codes.current, choices
    current.complete = codes.complete if codes.current or codes.before else str
    text = readings.TEXT.value or ""
    if current.complete(text) != text:
        st.rerun()
    if choices:
        LANGUAGE.set(code_of(text, choices) or None)
        st.selectbox(
            tr("Target language"),
            choices,
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
