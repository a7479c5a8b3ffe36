"""The progress of a search, with a button to stop it."""

import time
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NoReturn

import streamlit as st

from viz_app.language import marked, tr
from viz_app.session import sentence_parts
from viz_app.session.state import session_object

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from streamlit.delta_generator import DeltaGenerator


PROGRESS_DELAY = 0.4  # seconds before progress is shown


@dataclass
class StoppedSearches:
    """The searches that were stopped, by the key of their buttons.

    Attributes:
        shown: the key and the search whose progress is beside `stop_button`.
    """

    searches: "dict[str, Hashable]" = field(default_factory=dict)
    shown: "tuple[str, Hashable] | None" = None

    def stop_shown(self) -> None:
        """Stop the search whose progress is beside `stop_button`."""
        if self.shown is not None:
            self.stop(*self.shown)

    def stop(self, key: str, search: "Hashable") -> None:
        """Stop a search."""
        self.searches[key] = search

    def restart(self, key: str) -> None:
        """Let a search start again."""
        self.searches.pop(key, None)

    def restart_shown(self, key: str) -> NoReturn:
        """Let a search of a part of the page start again, and with it the parts."""
        self.restart(key)
        sentence_parts.run_again()


def stop_button() -> None:
    """Draw a button that stops the search of a part of the page.

    The style sheet shows it beside a progress bar. A click on a button in the part would wait until the part has run.
    """
    with st.container(key="stop-search", width="content"):
        st.button(tr("Stop"), on_click=session_object(StoppedSearches).stop_shown, key="stop_search")


def stoppable(
    place: "DeltaGenerator",
    search: "Hashable",
    key: str,
    doing: str = marked("Translating"),
    *,
    in_part: bool = False,
) -> "Callable[[int, int], None] | None":
    """Show the progress of a search, with a button to stop it.

    If it was stopped, only a button to start it again is drawn.

    Args:
        place: holds one element.
        search: what is computed; an equal one stays stopped.
        key: of the buttons.
        doing: what the progress bar says, in English.
        in_part: whether a part of the page searches (`sentence_parts`), beside whose progress is `stop_button`.

    Returns:
        To be called after each position, with its number and the last one; None if the search was stopped. A click
        outside the parts of the page ends the run there, since it draws.
    """
    stopped = session_object(StoppedSearches)
    if stopped.searches.get(key) == search:
        with place.container(horizontal=True, vertical_alignment="center"):
            st.caption(tr("Stopped."), width="content")
            restart = stopped.restart_shown if in_part else stopped.restart
            st.button(tr("Start again"), on_click=restart, args=(key,), type="tertiary", key=f"again_{key}")
        return None
    started = time.monotonic()
    bar: DeltaGenerator | None = None

    def progress(done: int, most: int) -> None:
        nonlocal bar
        if time.monotonic() - started < PROGRESS_DELAY:
            return
        if bar is None and in_part:
            stopped.shown, bar = (key, search), place.empty()
        elif bar is None:
            with place.container(horizontal=True, vertical_alignment="center"):
                bar = st.empty()
                st.button(tr("Stop"), on_click=stopped.stop, args=(key, search), key=f"stop_{key}")
        bar.progress(done / most, tr("{doing}: token {done} of at most {most}", doing=tr(doing), done=done, most=most))

    # In the context of the page: what is drawn in that of a cached function, Streamlit draws again on a cache hit.
    return partial(copy_context().run, progress)
