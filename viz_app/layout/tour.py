"""A guided tour for who comes for the first time: a line above the page that says what to try, until it is
dismissed, and when it is asked for.
"""

from collections.abc import Mapping

import streamlit as st
from streamlit.navigation.page import StreamlitPage

# The page that a step is about, and what to try there.
STEPS = (
    (
        "translate",
        "**See how a Transformer translates.** Type an English sentence below and press Enter, or pick one of those "
        "to try.",
    ),
    (
        "translate",
        "**Every word answers a click** (Ctrl: several) and is selected on every page. The bar under it: how sure the "
        "model was.",
    ),
    (
        "heads",
        "**Each small picture is one attention head:** rows look at columns. Click one to see it large; hover a word "
        "to see where it looks.",
    ),
    ("switches", "**Turn a head off** by a click, and see what becomes of the translation without it."),
    (
        "alignment",
        "**Which word stands for which?** Ribbons follow one head or method; link words yourself to see which head "
        "agrees with you.",
    ),
    (
        "translate",
        "**A ? says what a number means, and what it does not.** The address holds what you see: copy it to come back "
        "to it.",
    ),
)
STEP = "tour_step"  # where the session keeps how far the tour has got; None: it was dismissed
PARAMETER, OFF = "tour", "off"  # in the address


def tour(pages: Mapping[str, StreamlitPage], current: StreamlitPage) -> None:
    """Show the current step, on whatever page its reader is, with a link to the page that the step is about.

    Args:
        pages: by the names of their scripts.
    """
    step: int | None = st.session_state.setdefault(STEP, None if st.query_params.get(PARAMETER) == OFF else 0)
    if step is None:
        if st.query_params.get(PARAMETER) != OFF:
            st.query_params[PARAMETER] = OFF
        return
    if PARAMETER in st.query_params:
        del st.query_params[PARAMETER]
    name, text = STEPS[step]
    is_last = step == len(STEPS) - 1
    with st.container(key="tour", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"{step + 1} of {len(STEPS)}\u2002{text}", width="stretch")
        if pages[name] != current:
            st.page_link(pages[name], label="Show me", icon=":material/arrow_forward:", width="content")
        if step > 0:
            st.button("Back", on_click=_go, args=(step - 1,), type="tertiary", key="tour_back")
        st.button(
            "Done" if is_last else "Next",
            on_click=_go,
            args=(None if is_last else step + 1,),
            type="tertiary",
            key="tour_next",
        )
        if not is_last:
            st.button("Skip the tour", on_click=_go, args=(None,), type="tertiary", key="tour_skip")


def way_back() -> None:
    """A button at the end of the sidebar that begins the tour again, while it is not shown."""
    if st.session_state[STEP] is None:
        st.sidebar.button(
            "Take the tour", on_click=_go, args=(0,), type="tertiary", icon=":material/explore:", key="tour_again"
        )


def _go(step: int | None) -> None:
    st.session_state[STEP] = step
