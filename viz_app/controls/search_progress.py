"""The progress of a search, with a button to stop it."""

import time
from collections.abc import Callable, Hashable
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz_app.controls.widgets import text_button
from viz_app.drawing.display_text import sentence_case
from viz_app.language import marked, tr
from viz_app.session.state import session_object

R = TypeVar("R")
PROGRESS_DELAY = 0.4  # seconds before progress is shown


@dataclass
class StoppedSearches:
    """The searches that were stopped, by the key of their buttons."""

    searches: dict[str, Hashable] = field(default_factory=dict)


def stoppable(
    place: DeltaGenerator, search: Hashable, key: str, doing: str = marked("Translating")
) -> Callable[[int, int], None] | None:
    """Show the progress of a search with a button to stop it or, if it was stopped, only one to start it again.

    Args:
        place: holds one element.
        search: identifies the computation; an equal one stays stopped.
        doing: text of the progress bar, in English.

    Returns:
        To be called after each position, with its number and the last one; None if the search was stopped. A click
        anywhere on the page ends the run there, since it draws.
    """
    stopped = session_object(StoppedSearches).searches
    if stopped.get(key) == search:
        with place.container(horizontal=True, vertical_alignment="center"):
            st.caption(tr("Stopped."), width="content")
            text_button(tr("Start again"), stopped.pop, key, None, key=f"again_{key}")
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
                st.button(tr("Stop"), on_click=stopped.update, args=({key: search},), key=f"stop_{key}")
        bar.progress(done / most, tr("{doing}: token {done} of at most {most}", doing=tr(doing), done=done, most=most))

    # In the context of the page, as Streamlit draws again on a cache hit whatever a cached function has drawn.
    return partial(copy_context().run, progress)


def stoppable_result(
    place: DeltaGenerator,
    search: Hashable,
    key: str,
    run: Callable[[Callable[[int, int], None]], R],
    doing: str = marked("Translating"),
) -> "R | None":
    """Return the result of a search, which is called with its progress, see `stoppable`; None, with the reason in the
    place, if it was stopped or raises a ValueError.
    """
    progress = stoppable(place, search, key, doing)
    if progress is None:
        return None
    try:
        result = run(progress)
    except ValueError as error:
        place.error(sentence_case(str(error)))
        return None
    place.empty()
    return result
