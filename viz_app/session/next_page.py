"""The page that a click leads to, with the settings that it has there.

A callback sets the fields of the other page and calls `lead_to`; the run after it goes there. A link alone could set
nothing.
"""

from dataclasses import dataclass

import streamlit as st

from viz_app.page_list import script_of
from viz_app.session.state import session_object


@dataclass
class NextPage:
    """The address of the page that the last click leads to; "" if none does."""

    name: str = ""


def lead_to(name: str) -> None:
    """Go to a page, by its address; call it in a callback."""
    session_object(NextPage).name = name


def follow() -> None:
    """Go to the page that a click leads to; call it before anything is drawn."""
    state = session_object(NextPage)
    name, state.name = state.name, ""
    if name:
        st.switch_page(script_of(name))
