"""Attention as data for the browser: the part that lines and maps have in common."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.capture import AttentionMap
from core.drawing.axis_words import axis_words
from core.drawing.weights import encoded_weights
from viz_app.components.component import Drawing, draw
from viz_app.components.highlight import AXES, Highlight, Links
from viz_app.figures.head_names import COMBINED_TITLES
from viz_app.figures.theme import Theme
from viz_app.language import tr

ClickedWeights = tuple[tuple[int, ...], int | None, int | None]  # heads, row and column
OnCell = Callable[[ClickedWeights], None]


def attention_data(
    attention: AttentionMap,
    heads: Sequence[int],
    theme: Theme,
    place: Highlight,
    links: Links | None,
    name: Callable[[int, int], str],
    follows_clicks: bool,
) -> dict[str, Any]:
    """Return words, heads and highlights, see `AxisData` and `Head` in types.d.ts.

    Args:
        heads: Counted from 0.
        place: Highlighted rows and columns.
        links: Names of the words that rows and columns belong to. With them a word can be selected by a click, and
            words are highlighted in all drawings of the page while they are pointed at in one.
        name: Name of a head, from its layer and its number.
        follows_clicks: A head clicked in the grid is drawn at once, before the server has answered.

    Raises:
        ValueError: The layer has no such head.
    """
    for head in heads:
        if not 0 <= head < attention.num_heads:
            raise ValueError(
                f"layer {attention.layer + 1} has {attention.num_heads} heads, there is no head {head + 1}"
            )
    words = axis_words(attention)
    return {
        **words,
        "titles": {axis: tr(title) for axis, title in words["titles"].items()},
        **highlight_data(place, links),
        "heads": [
            {
                "name": tr(name(attention.layer, head)),
                "short": tr(COMBINED_TITLES[head]) if attention.layer < 0 else f"H{head + 1}",
                "weights": encoded_weights(attention.weights[head]),
                **head_look(theme, head),
            }
            for head in heads
        ],
        "followsClicks": follows_clicks,
    }


@dataclass(frozen=True)
class Cutting:
    """Cutting of attention weights by clicks in a drawing.

    Attributes:
        cuts: Cut rows and columns of heads by name; None in place of a range for all.
        on_cut: Called with the heads by number, and the row and the column, None for all, that were clicked.
    """

    cuts: Sequence[tuple[str, range | None, range | None]]
    on_cut: "Callable[[ClickedWeights], None]"

    def payload(self) -> dict[str, Any]:
        """Return the part of a drawing's data, see `AxisData` in types.d.ts."""

        def ends(positions: range | None) -> list[int] | None:
            return None if positions is None else [positions.start, positions.stop]

        cuts = [{"head": head, "query": ends(rows), "key": ends(keys)} for head, rows, keys in self.cuts]
        return {"cutting": True, "cuts": cuts}


def clicked_weights(value: object, size: tuple[int, int], names: Mapping[str, int]) -> ClickedWeights | None:
    """Return the weights that the browser sent, or None if there are no such weights.

    Args:
        size: Number of rows and of columns.
        names: The numbers of the drawn heads by name.
    """
    match value:
        case {"query": int() | None as query, "key": int() | None as key, **rest}:
            pass
        case {"query": int(query), **rest}:
            key = None
        case {"key": int(key), **rest}:
            query = None
        case _:
            return None
    head = rest.get("head")
    heads = tuple(names.values()) if head is None else (names[head],) if head in names else ()
    rows, columns = size
    valid = (query is None or 0 <= query < rows) and (key is None or 0 <= key < columns)
    return (heads, query, key) if valid and heads and (query, key) != (None, None) else None


def highlight_data(place: Highlight, links: Links | None) -> dict[str, Any]:
    """Return the highlighted rows and columns, and the names of the words."""
    return {"lit": {axis: list(place[axis]) for axis in AXES}, "links": links}


def head_look(theme: Theme, head: int) -> dict[str, str]:
    """Return the colour and the dashes of a head, counted from 0."""
    mark = theme.head_mark(head)
    return {"color": mark.color, "dash": mark.dash}


def draw_attention(
    drawing: Drawing,
    payload: dict[str, Any],
    attention: AttentionMap,
    heads: Sequence[int],
    key: str,
    cutting: Cutting | None,
    on_cell: OnCell | None = None,
) -> None:
    """Draw attention on the page, and handle clicks.

    With `cutting`, clicks are on weights, else on cells.
    """
    names = {drawn["name"]: head for drawn, head in zip(payload["heads"], heads, strict=True)}

    def read(value: object) -> ClickedWeights | None:
        return clicked_weights(value, (len(attention.query_tokens), len(attention.key_tokens)), names)

    if cutting is not None:
        draw(drawing, {**payload, **cutting.payload()}, key, "cut", read, cutting.on_cut)
    elif on_cell is not None:
        draw(drawing, payload, key, "cell", read, on_cell)
    else:
        drawing(data=payload, key=key)
