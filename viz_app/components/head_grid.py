"""All heads of all layers as one picture whose cells are buttons: look at all, click one."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from core.capture import AttentionMap
from viz_app.components.attention_data import encoded, head_look, highlight_data
from viz_app.components.component import component_beside, draw
from viz_app.components.highlight import AXES, NO_HIGHLIGHT, Highlight, Links
from viz_app.figures import head_names
from viz_app.figures.head_grid import MAX_CELL, grid_picture, readable_on
from viz_app.figures.head_names import LayerHead
from viz_app.figures.scorecard_text import Note
from viz_app.figures.theme import Theme

_component = component_beside(__file__)


def grid_payload(
    maps: Sequence[AttentionMap],
    theme: Theme,
    selected: Collection[LayerHead] = (),
    row_height: int = 58,
    *,
    order: Sequence[LayerHead] | None = None,
    notes: Mapping[LayerHead, Note] | None = None,
    per_layer: bool = False,
    place: Highlight = NO_HIGHLIGHT,
    links: Links | None = None,
) -> dict[str, Any]:
    """What the browser needs to draw the grid.

    Args:
        maps: the layers of one kind of attention, and many heads as one, see `choice.with_combined`; they may differ in
            their number of heads.
        selected: heads to mark with their colour and number; what is not there is not marked.
        row_height: in pixels.
        order: the heads in reading order; None: a row a layer.
        notes: what to say of heads: a caption on the cell, if there is one, and a text to hover.
        per_layer: whether the maps stand for all heads of their layer.
        place: rows and columns to light up in every map while nothing is pointed at in another drawing.
        links: the words that rows and columns belong to; None: what is pointed at elsewhere is ignored.

    Returns:
        `picture`: of all maps, see `grid_picture`; `columns`: their names; `rows`: for each its name and its heads:
        name, title to write on it, layer, head, caption, text and, if it is selected, its mark; `lit`: the rows and the
        columns to light up; `size`: how many there are; `links`; `weights`: of every head of a short sentence, a string
        each by layer, for a map that follows clicks, see `map_payload`; empty for a long one, which would be too much
        to send; `looks`: colour and dashes of every head.

    Raises:
        ValueError: no maps, or maps of different sentences.
    """
    width = max((attention.num_heads for attention in maps), default=0)
    # the row of all heads may be longer
    heads = max((attention.num_heads for attention in maps if attention.layer >= 0), default=0)
    columns = (
        ["all heads", *[""] * (width - 1)]
        if per_layer
        else [f"H{head + 1}" if head < heads else "" for head in range(width)]
    )
    name = head_names.layer_name if per_layer else head_names.name_of
    named_rows = grid_rows(maps, order)
    rows = [row for _, row in named_rows]
    layers = maps
    if order is not None:
        columns = [""] * width
        maps = _arranged(maps, rows)

    def cell(layer: int, head: int) -> dict[str, Any]:
        note = (notes or {}).get((layer, head), Note("", name(layer, head)))
        title = head_names.COMBINED_TITLES[head] if layer < 0 else name(layer, head) if order is not None else ""
        badge = title or (name(layer, head) if per_layer else str(head + 1))
        mark = {**_mark(head, theme), "badge": badge} if (layer, head) in selected else None
        return {
            "name": name(layer, head),
            "title": title,
            "layer": layer,
            "head": head,
            "caption": note.caption,
            "text": note.text,
            "mark": mark,
        }

    return {
        "picture": grid_picture(maps, theme),
        "columns": columns,
        "sorted": order is not None,
        "size": dict(zip(AXES, maps[0].weights.shape[1:], strict=True)),
        **highlight_data(place, links),
        "rowHeight": row_height,
        "weights": _weights(layers),
        "looks": [head_look(theme, head) for head in range(width)],
        "rows": [{"name": title, "cells": [cell(*place) for place in row]} for title, row in named_rows],
    }


def grid_rows(
    maps: Sequence[AttentionMap], order: Sequence[LayerHead] | None = None
) -> list[tuple[str, list[LayerHead]]]:
    """The rows of the grid with their names: the layers, or of heads in another order the rank of the first of each
    row.
    """
    if order is None:
        names = (f"L{attention.layer + 1}" if attention.layer >= 0 else "all" for attention in maps)
        return [
            (name, [(attention.layer, head) for head in range(attention.num_heads)])
            for name, attention in zip(names, maps, strict=True)
        ]
    width = max((attention.num_heads for attention in maps), default=0)
    return [(str(1 + start), list(order[start : start + width])) for start in range(0, len(order), width)]


def head_grid(
    maps: Sequence[AttentionMap],
    theme: Theme,
    on_click: Callable[[LayerHead], None],
    *,
    selected: Collection[LayerHead] = (),
    key: str = "head_grid",
    **options: Any,
) -> None:
    """Draw the grid on the page.

    Args:
        on_click: told which head was clicked, before the page runs again.
        selected, options: those of `grid_payload`.
        key: of the component, as for any widget.
    """
    draw(
        _component,
        grid_payload(maps, theme, selected, **options),
        key,
        "head",
        lambda value: clicked_head(value, maps),
        on_click,
    )


def clicked_head(value: object, maps: Sequence[AttentionMap]) -> LayerHead | None:
    """What the browser sent as a head, or None if there is no such head."""
    match value:
        case {"layer": int(layer), "head": int(head)} if any(
            each.layer == layer and 0 <= head < each.num_heads for each in maps
        ):
            return layer, head
        case _:
            return None


def _arranged(maps: Sequence[AttentionMap], rows: Sequence[Sequence[LayerHead]]) -> list[AttentionMap]:
    """The maps of heads in another order, as if each row were a layer."""
    by_layer = {attention.layer: attention.weights for attention in maps}
    return [replace(maps[0], weights=torch.stack([by_layer[layer][head] for layer, head in row])) for row in rows]


def _weights(maps: Sequence[AttentionMap]) -> dict[int, list[str]]:
    """Of each head by itself, unless the sentence is so long that even its picture is reduced."""
    if max(maps[0].weights.shape[1:]) > MAX_CELL:
        return {}
    return {
        attention.layer: [encoded(head) for head in attention.weights] for attention in maps if attention.layer >= 0
    }


def _mark(head: int, theme: Theme) -> dict[str, str]:
    """A head is never told by its colour alone: its number stands on it."""
    mark = theme.head_mark(head)
    return {
        "color": mark.color,
        "dash": {"solid": "solid", "dash": "dashed", "dot": "dotted"}[mark.dash],
        "text": readable_on(mark.color),
    }
