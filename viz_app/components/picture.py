"""A picture of the result of an analysis on the page; a click on a mark of a head is sent to the server."""

from collections.abc import Callable

from core.analysis.pictures import Picture
from core.analysis.pictures_data import clicked_head, picture_data
from core.trace import Head
from viz_app.components.component import component_beside, draw
from viz_app.language import translated

_component = component_beside(__file__)


def picture(shown: Picture, selected: Head | None, on_head: Callable[[Head], None], *, key: str) -> None:
    """Draw a picture on the page.

    Args:
        selected: head that is marked.
        on_head: called with the head of a clicked mark, before the page runs again.
        key: of the component, as for any widget.
    """
    data = picture_data(shown, translated, selected)
    draw(_component, data, key, "place", lambda value: clicked_head(shown, value), on_head)
