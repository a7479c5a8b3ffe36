"""Clicks in drawings of attention: on cells, and on weights to cut."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.capture import AttentionMap
from viz_app.components.component import Drawing, draw

ClickedWeights = tuple[tuple[int, ...], int | None, int | None]  # heads, row and column
OnCell = Callable[[ClickedWeights], None]


@dataclass(frozen=True)
class Cutting:
    """Cutting of attention weights by clicks in a drawing."""

    # cut rows and columns of heads by name; None in place of a range for all
    cuts: Sequence[tuple[str, range | None, range | None]]
    on_cut: OnCell  # called with the heads by number, and the row and the column, None for all, that were clicked

    def payload(self) -> dict[str, Any]:
        """Return the part of a drawing's data, see `AxisData` in types.d.ts."""

        def ends(positions: range | None) -> list[int] | None:
            return None if positions is None else [positions.start, positions.stop]

        cuts = [{"head": head, "query": ends(rows), "key": ends(keys)} for head, rows, keys in self.cuts]
        return {"cutting": True, "cuts": cuts}


def clicked_weights(value: object, size: tuple[int, int], names: Mapping[str, int]) -> ClickedWeights | None:
    """Return the weights that the browser sent, or None if there are no such rows, columns or heads."""
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


def draw_attention(
    drawing: Drawing,
    payload: dict[str, Any],
    attention: AttentionMap,
    heads: Sequence[int],
    key: str,
    cutting: Cutting | None,
    on_cell: OnCell | None = None,
) -> None:
    """Draw attention on the page, and handle clicks, which are on weights with `cutting`, else on cells."""
    names = {drawn["name"]: head for drawn, head in zip(payload["heads"], heads, strict=True)}

    def read(value: object) -> ClickedWeights | None:
        return clicked_weights(value, (len(attention.query_tokens), len(attention.key_tokens)), names)

    if cutting is not None:
        draw(drawing, {**payload, **cutting.payload()}, key, "cut", read, cutting.on_cut)
    elif on_cell is not None:
        draw(drawing, payload, key, "cell", read, on_cell)
    else:
        drawing(data=payload, key=key)
