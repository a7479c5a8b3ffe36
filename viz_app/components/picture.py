"""A picture of the result of an analysis on the page; a click on a mark is sent to the server."""

from collections.abc import Callable, Collection, Sequence, Set

from core.analysis.pictures import Picture
from core.analysis.pictures_data import Mark, Place, clicked_place, head_at, picture_data
from core.trace import Head
from viz_app.components.component import component_beside, draw
from viz_app.language import translated_all

_component = component_beside(__file__)


def picture(
    shown: Picture,
    key: str,
    selected: Mark | Set[Mark] | None = None,
    *,
    on_head: Callable[[Head], None] | None = None,
    on_place: Callable[[Place], None] | None = None,
    words: Sequence[str] = (),
    selected_words: Collection[str] = (),
) -> None:
    """Draw a picture on the page; its marks are buttons if clicks are handled.

    Args:
        key: of the component, as for any widget.
        selected: heads, or cells, that are marked.
        on_head: called with the head of a clicked mark, before the page runs again.
        on_place: called with the row and the column of any clicked mark.
        words: for each row of a grid the name of the sentence's word that a click on the row's name selects, or "".
        selected_words: names of those that are selected.
    """
    data = {**picture_data(shown, translated_all, selected), "clickable": bool(on_head or on_place)}

    for row, word in zip(data.get("rows", ()), words, strict=False):
        row |= {"word": word, "selected": word in selected_words}

    def clicked(place: Place) -> None:
        if on_place:
            on_place(place)
        if on_head and (head := head_at(shown, place)):
            on_head(head)

    draw(_component, data, key, "place", lambda value: clicked_place(shown, value), clicked)
