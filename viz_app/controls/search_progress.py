"""The progress of a search, with a button to stop it."""

import time
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from viz_app.language import marked, tr
from viz_app.session.state import session_object

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from streamlit.delta_generator import DeltaGenerator


PROGRESS_DELAY = 0.4  # seconds before progress is shown


@dataclass
class StoppedSearches:
    """The searches that were stopped, by the key of their buttons."""

    searches: "dict[str, Hashable]" = field(default_factory=dict)

    def stop(self, key: str, search: "Hashable") -> None:
        """Stop a search."""
        self.searches[key] = search

    def restart(self, key: str) -> None:
        """Let a search start again."""
        self.searches.pop(key, None)


def stoppable(
    place: "DeltaGenerator", search: "Hashable", key: str, doing: str = marked("Translating")
) -> "Callable[[int, int], None] | None":
    """Show the progress of a search with a button to stop it or, if it was stopped, only one to start it again.

    Args:
        place: holds one element.
        search: identifies the computation; an equal one stays stopped.
        doing: text of the progress bar, in English.

    Returns:
        To be called after each position, with its number and the last one; None if the search was stopped. A click
        anywhere on the page ends the run there, since it draws.
    """
    stopped = session_object(StoppedSearches)
    if stopped.searches.get(key) == search:
        with place.container(horizontal=True, vertical_alignment="center"):
            st.caption(tr("Stopped."), width="content")
            st.button(tr("Start again"), on_click=stopped.restart, args=(key,), type="tertiary", key=f"again_{key}")
        return None
    started = time.monotonic()
    bar: DeltaGenerator | None = None

    def progress(done: int, most: int) -> None:
        nonlocal bar
        if time.monotonic() - started < PROGRESS_DELAY:
            return
        if bar is None:
            with place.container(horizontal=True, vertical_alignment="center"):
                bar = st.empty()
                st.button(tr("Stop"), on_click=stopped.stop, args=(key, search), key=f"stop_{key}")
        bar.progress(done / most, tr("{doing}: token {done} of at most {most}", doing=tr(doing), done=done, most=most))

    # In the context of the page, as Streamlit draws again on a cache hit whatever a cached function has drawn.
    return partial(copy_context().run, progress)
