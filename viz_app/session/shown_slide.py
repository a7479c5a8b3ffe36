"""The slide that is open: a picture of the page, by its file name.

It is in the address, as `slide=cross-layer1-head0`: a link, a reload and the back button open and close slides.
"""

from dataclasses import dataclass, field

from viz_app.session.address import SLIDE
from viz_app.session.fields import end_part
from viz_app.session.state import session_object


@dataclass
class _Pictures:
    """Pictures drawn by the current run of the page."""

    page: str = ""  # the page
    names: set[str] = field(default_factory=set[str])  # of the pictures that have a slide
    shown: str = ""  # the name of the one whose slide is open, or ""
    more_follow: bool = False  # whether a computation is under way that may lead to more of them


def begin_page(page: str) -> None:
    """Forget the pictures of the last run, and on another page its slide. Call it before the page is drawn."""
    pictures = session_object(_Pictures)
    named = SLIDE.take()
    if named is not None or page != pictures.page:
        pictures.shown = named.value if named is not None else ""
    pictures.page, pictures.names, pictures.more_follow = page, set(), False
    SLIDE.put(pictures.shown)


def note_picture(name: str) -> None:
    """Note that the page has a picture of this name."""
    session_object(_Pictures).names.add(name)


def expect_more() -> None:
    """Note that the page will draw again at the end of a computation."""
    session_object(_Pictures).more_follow = True


def show(name: str) -> None:
    """Open the slide of a picture, or with "" close it. Call it in a callback."""
    session_object(_Pictures).shown = name
    SLIDE.put(name)
    end_part()


def is_shown(name: str) -> bool:
    """Return whether the slide of this picture is open."""
    return session_object(_Pictures).shown == name


def unknown() -> str:
    """Return the name in the address if the page has no such picture; else "".

    Call it when the page has been drawn.
    """
    pictures = session_object(_Pictures)
    return "" if pictures.shown in pictures.names or pictures.more_follow else pictures.shown
