"""The language of the interface that a visitor has selected."""

from dataclasses import dataclass

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from viz_app import language
from viz_app.language import ENGLISH, LANGUAGES, tr
from viz_app.session.state import Widget, keep_selected, session_object

LANGUAGE = Widget[str]("language")


@dataclass
class VisitorLanguage:
    """The code of the language of a session."""

    code: str = ENGLISH


def restore() -> None:
    """Take the language from the switch, the address or the browser.

    It is the browser's on a first visit without an address. Links hold the names of selected options, which are in the
    language of whoever copied them, so they hold the language too unless it is English. Call it before any text is
    drawn.
    """
    default = ENGLISH if st.query_params else _browser_language()
    session_object(VisitorLanguage).code = LANGUAGE.restore(default, _known)


def switch() -> None:
    """Draw the switch."""
    code = st.selectbox(
        tr("Language"),
        list(LANGUAGES),
        format_func=LANGUAGES.__getitem__,
        key=LANGUAGE.key,
        on_change=keep_selected,
        help=tr("Of the interface. Messages about faulty files, exported tables and code stay English."),
    )
    # An address without a language may also have nothing else: then the browser decides, so English is named there.
    LANGUAGE.keep(code, ENGLISH if _browser_language() == ENGLISH else "")


def _browser_language() -> str:
    code = (st.context.locale or "").partition("-")[0]
    return code if code in LANGUAGES else ENGLISH


def _known(text: str) -> str:
    if text not in LANGUAGES:
        raise ValueError(f"{text!r} is none of the languages {', '.join(LANGUAGES)}")
    return text


def _code() -> str:
    return ENGLISH if get_script_run_ctx(suppress_warning=True) is None else session_object(VisitorLanguage).code


language.use_language_of(_code)
