"""The progress of a search, with a button to stop it."""

import time
from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from streamlit.delta_generator import DeltaGenerator


PATIENCE = 0.4  # seconds without an answer after which progress is shown


def stoppable(
    place: "DeltaGenerator", work: "Hashable", key: str, doing: str = "Translating"
) -> "Callable[[int, int], None] | None":
    """Show how far a search is, with a button to stop it; None, and a button to start again, where it was stopped.

    Args:
        place: holds one element.
        work: what is done; only the very same stays stopped.
        key: of the buttons.
        doing: what the search does.

    Returns:
        What to call after each position. A click anywhere ends the run there, since it draws on the page.
    """
    stopped = f"stopped_{key}"
    if st.session_state.get(stopped) == work:
        with place.container(horizontal=True, vertical_alignment="center"):
            st.caption("Stopped.", width="content")
            st.button(
                "Start again", on_click=st.session_state.pop, args=(stopped,), type="tertiary", key=f"again_{key}"
            )
        return None
    started = time.monotonic()
    bar: DeltaGenerator | None = None

    def progress(done: int, most: int) -> None:
        nonlocal bar
        if time.monotonic() - started < PATIENCE:
            return
        if bar is None:
            with place.container(horizontal=True, vertical_alignment="center"):
                bar = st.empty()
                st.button("Stop", on_click=st.session_state.__setitem__, args=(stopped, work), key=f"stop_{key}")
        bar.progress(done / most, f"{doing}: token {done} of at most {most}")

    return progress
