"""The slide that the address names: a picture of the page, by its file name.

An example is `slide=cross-layer1-head0`.

The address is the only place that says which slide is open, so a link, a reload and the browser's back button open and
close slides.
"""

from dataclasses import dataclass, field

import streamlit as st

from viz_app.session.state import put_in_address, session_object

SLIDE = "slide"  # query parameter


@dataclass
class _Pictures:
    """Pictures drawn by the current run of the page.

    Attributes:
        names: of the pictures that have a slide.
        more_follow: whether a computation is under way that may lead to more of them.
    """

    names: set[str] = field(default_factory=set[str])
    more_follow: bool = False


def begin_page() -> None:
    """Forget the pictures of the last run. Call it before the page is drawn."""
    session_object(_Pictures).names = set()
    session_object(_Pictures).more_follow = False


def note_picture(name: str) -> None:
    """Note that the page has a picture of this name."""
    session_object(_Pictures).names.add(name)


def expect_more() -> None:
    """Note that the page will draw again at the end of a computation."""
    session_object(_Pictures).more_follow = True


def show(name: str) -> None:
    """Name a picture in the address."""
    put_in_address(SLIDE, name)


def close() -> None:
    """Remove the name from the address."""
    put_in_address(SLIDE, "")


def is_shown(name: str) -> bool:
    """Return whether the address names this picture."""
    return st.query_params.get(SLIDE) == name


def unknown() -> str:
    """Return the name in the address if the page has no such picture; else "".

    Call it when the page has been drawn.
    """
    name, pictures = st.query_params.get(SLIDE, ""), session_object(_Pictures)
    return "" if name in pictures.names or pictures.more_follow else name
