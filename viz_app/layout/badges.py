"""Is what the pages show what the model did? A row of badges, computed on the spot; any page can end with it."""

from typing import TYPE_CHECKING

import streamlit as st

from viz_app.figures.display_text import plain
from viz_app.session import memory, readings

if TYPE_CHECKING:
    from core.analysis.sanity_checks import Check

PAGES = ("Translate", "Heads", "Alignment", "BertViz")  # titles of those that end with the row
ABOUT = {
    "rows sum to 1": "Every row of every head is a share of attention: its weights must add up to 1.",
    "masks respected": "In the decoder nothing may look at a token that is yet to be written, and where "
    "self-attention is restricted, nothing beyond "
    "its neighbourhood: all those weights must be exactly 0.",
    "tokens match axes": "The tokens beside every map are those that the model was given, and each head stands in its "
    "own place.",
    "replay equals search": "The maps come from one pass over the finished translation. It must find each token as "
    "probable as the search did.",
    "fused equals explicit": "Maps need attention computed in the open; for speed it is usually computed in one go. "
    "Both must give the same.",
    "dropout off": "Dropout switches parts of a model off at random while it is trained. Here every module must be in "
    "evaluation mode.",
}


@st.cache_resource(show_spinner=False)
def _found() -> "memory.Memory[list[Check]]":
    return memory.Memory(64)


def checks(about: readings.Reading) -> "list[Check]":
    """All that can be checked of a reading; what was forced as a whole was not searched, so there is no search to be
    equal to.
    """
    from core.analysis.sanity_checks import check_explanation

    forced = about.forced_as if about.index == readings.FORCED_INDEX else None
    searched = forced is None or forced.target is None

    def compute() -> "list[Check]":
        found = check_explanation(about.model.translator, about.explanation, about.hypothesis)
        return [check for check in found if searched or check.name != "replay equals search"]

    return _found().get((about.identity, searched), compute)


@st.fragment
def badges(about: readings.Reading) -> None:
    """Draw the row. Call it last on a page: it runs the model twice, and what is above is there already."""
    found = checks(about)
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="trust"):
        st.caption("Checked now", width="content")
        for check in found:
            detail = f"{ABOUT[check.name]}\n\nFound: {plain(check.detail)}."
            if check.passed:
                st.badge(check.name, icon=":material/check:", color="gray", help=detail)
            else:
                st.badge(f"{check.name}: no", icon=":material/close:", color="red", help=detail)
    for check in found:
        if not check.passed:
            st.error(
                f"**Not true: {check.name}.** {ABOUT[check.name]} Found: {plain(check.detail)}. Do not trust the "
                f"pictures on this page."
            )
