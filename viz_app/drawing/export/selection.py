"""Selected rows and columns in exported pictures, and what rows gave to hidden tokens."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from core.capture import AttentionMap
from viz_app.drawing.display_text import decimal
from viz_app.drawing.theme import Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Axis = Literal["query", "key"]
AXES: tuple[Axis, Axis] = ("query", "key")
Selected = Mapping[Axis, Sequence[int]]  # rows and columns
NOTHING: Selected = {"query": (), "key": ()}
VEIL = 0.72  # of the background over what is not selected, as in map.css
SHARE = 0.5  # inches of a weight on hidden tokens
LEAST_SHARE = 0.005  # smaller ones would be written as 0, as in weights.js


def dim(
    axes: "Axes", selected: Selected, size: tuple[int, int], theme: Theme, corner: tuple[int, int] = (0, 0)
) -> None:
    """Dim the cells of a matrix that are neither in a selected row nor in a selected column.

    Args:
        size: Rows and columns of the matrix.
        corner: Row and column of its first cell on these axes.
    """
    from matplotlib.patches import Rectangle

    if not any(selected.values()):
        return
    for top, bottom in runs_without(selected["query"], size[0]):
        for left, right in runs_without(selected["key"], size[1]):
            place = corner[1] + left - 0.5, corner[0] + top - 0.5
            veil = Rectangle(place, right - left, bottom - top, facecolor=theme.background, alpha=VEIL, linewidth=0)
            axes.add_patch(veil)


def runs_without(indices: Collection[int], count: int) -> list[tuple[int, int]]:
    """Return the runs of neighbours below `count` that are not among some indices: first, and one after the last."""
    ends = sorted(set(indices))
    runs = zip([0, *(end + 1 for end in ends)], [*ends, count], strict=True)
    return [(start, stop) for start, stop in runs if start < stop]


def hidden_texts(attention: AttentionMap, head: int, sign: bool = False) -> list[str]:
    """Write the weight of each row on hidden tokens, "" for none; no list if no row has any."""
    return [] if attention.hidden is None else share_texts(attention.hidden[head].tolist(), sign)


def share_texts(shares: Sequence[float], sign: bool = False) -> list[str]:
    """Write the weights of rows on hidden tokens, "" for none or NaN; no list if no row has any."""
    texts = [decimal(share, 2, sign) if abs(share) >= LEAST_SHARE else "" for share in shares]
    return texts if any(texts) else []
