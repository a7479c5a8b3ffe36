"""A guided tour for the first visit: one line above the page suggests a thing to try."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from viz_app.language import marked, tr
from viz_app.session.address import TOUR
from viz_app.session.state import session_object

STEPS = (  # the page of a step, and a thing to try there
    (
        "translate",
        marked(
            "**See how a Transformer translates.** Type an English sentence below and press Enter, or pick an example."
        ),
    ),
    (
        "translate",
        marked(
            "**Click a word to select it on every page** (Ctrl-click for several). The bar under it: how probable the "
            "model found it."
        ),
    ),
    (
        "heads",
        marked(
            "**Each small picture is one attention head:** rows attend to columns. Click one to enlarge it; hover a "
            "word to see its weights."
        ),
    ),
    ("switches", marked("**Click a head to turn it off**, and see how the translation changes.")),
    (
        "alignment",
        marked(
            "**Which word translates which?** Ribbons show one head or method; link words yourself to rank all heads."
        ),
    ),
    (
        "translate",
        marked(
            "**A ? explains what a number means, and what it does not.** The address keeps what you see: copy it to "
            "come back."
        ),
    ),
)
OFF = "off"  # in the address


def _first_step() -> int | None:
    return None if OFF in TOUR.texts else 0


@dataclass
class TourState:
    """The step that the tour shows; None after it was dismissed."""

    step: int | None = field(default_factory=_first_step)

    def go(self, step: int | None) -> None:
        """Show another step, or none."""
        self.step = step


def tour(pages: Mapping[str, StreamlitPage], current: StreamlitPage) -> None:
    """Draw the current step, on any page, with a link to its page.

    Args:
        pages: by the names of their scripts.
    """
    state = session_object(TourState)
    step = state.step
    TOUR.take()
    if step is None:
        TOUR.put(OFF)
        return
    name, text = STEPS[step]
    is_last = step == len(STEPS) - 1
    with st.container(key="tour", horizontal=True, vertical_alignment="center", gap="small"):
        number = tr("{number} of {count}", number=step + 1, count=len(STEPS))
        st.markdown(f"{number}\u2002{tr(text)}", width="stretch")
        if pages[name] != current:
            st.page_link(pages[name], label=tr("Show me"), icon=":material/arrow_forward:", width="content")
        if step > 0:
            st.button(tr("Back"), on_click=state.go, args=(step - 1,), type="tertiary", key="tour_back")
        st.button(
            tr("Done") if is_last else tr("Next"),
            on_click=state.go,
            args=(None if is_last else step + 1,),
            type="tertiary",
            key="tour_next",
        )
        if not is_last:
            st.button(tr("Skip the tour"), on_click=state.go, args=(None,), type="tertiary", key="tour_skip")


def restart_button() -> None:
    """Draw a button in the sidebar that starts the tour again, while it is not shown."""
    state = session_object(TourState)
    if state.step is None:
        st.sidebar.button(
            tr("Take the tour"),
            on_click=state.go,
            args=(0,),
            type="tertiary",
            icon=":material/explore:",
            key="tour_again",
        )
