"""Said on a page: that there is no memory for what it would compute."""

from collections.abc import Generator
from contextlib import contextmanager

import streamlit as st

from viz_app.drawing.display_text import sentence_case


@contextmanager
def no_room_shown() -> Generator[None]:
    """Show the reason if there is no memory for what is computed inside the block, which then ends."""
    try:
        yield
    except ValueError as error:
        from core.files.process_memory import NoRoomError  # imports torch: the page is drawn before

        if not isinstance(error, NoRoomError):
            raise
        st.error(sentence_case(str(error)))
