"""The parts of a page that depend on the sentence.

For another one they run again, and the frame around them does not. They are fragments of Streamlit with these names. A page whose script is more than one fragment has no part `PAGE`, and
runs as a whole.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

import streamlit as st
from streamlit.errors import StreamlitAPIException

from viz_app.session.state import session_object

SENTENCE, PAGE, CHECKS = "sentence-part", "page-part", "checks-part"


@dataclass
class Drawn:
    """Whether the last run of the whole page came to its end.

    Then the parts are those of this page.
    """

    is_whole: bool = False


def run_again_if_any() -> None:
    """Let the parts run again instead of the whole page, if it has them.

    Call it last in a callback.
    """
    if session_object(Drawn).is_whole:
        with suppress(StreamlitAPIException):  # the page has no such part
            st.rerun([SENTENCE, PAGE, CHECKS])


def run_again() -> NoReturn:
    """Let the parts run again, or the whole page if it has none.

    Call it last in a callback of a widget in a part.
    """
    run_again_if_any()
    st.rerun()
