"""The language of the interface that a visitor has selected."""

from functools import partial

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from viz_app.language import (
    ENGLISH,
    LANGUAGES,
    VisitorLanguage,
    language_of_visit,
    tr,
    use_visitors,
)
from viz_app.session.address import LANGUAGE
from viz_app.session.state import keep_selected, session_object


def restore() -> None:
    """Take the language from the switch or, at first, from address and browser, before any text is drawn."""
    default = language_of_visit(st.query_params, st.context.locale or "")
    session_object(VisitorLanguage).code = LANGUAGE.restore(default)


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
    LANGUAGE.put(code, ENGLISH if language_of_visit({}, st.context.locale or "") == ENGLISH else "")
    # The server has set it for the first language alone. Screen readers choose their voice by it, browsers their fonts.
    # Streamlit's tables and sliders write numbers by the languages of the browser, which are those of the visitor here.
    st.html(f"<script>{page_script(code)}</script>", unsafe_allow_javascript=True)


def page_script(code: str) -> str:
    """Return the script that names the language of the page, and that of the numbers in tables and sliders."""
    own = f'Object.defineProperty(navigator, "languages", {{ configurable: true, get: () => ["{code}"] }})'
    return f'document.documentElement.lang = "{code}"; {own}'


use_visitors(partial(get_script_run_ctx, suppress_warning=True), lambda: session_object(VisitorLanguage))
