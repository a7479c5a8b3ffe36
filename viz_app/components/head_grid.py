"""All heads as one picture of small maps, each of them a button."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import torch

from core.capture import AttentionMap
from core.drawing.drawing_data import MAX_CELL, encoded_hidden, encoded_weights, shown_weights
from viz_app.components.component import component_beside, draw
from viz_app.components.word_links import AXES, NO_HIGHLIGHT, Highlight, Links, highlight_data
from viz_app.drawing import head_names
from viz_app.drawing.head_grid import grid_picture, readable_on
from viz_app.drawing.head_names import LayerHead
from viz_app.drawing.scorecard_text import Note
from viz_app.drawing.theme import Theme
from viz_app.language import tr

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
    """Return the data of the grid, see `Data` in head_grid.js.

    Args:
        maps: The layers of one kind of attention, and combinations of heads, see `with_combined`. They may
            differ in their number of heads.
        selected: Heads to mark with their colour and number; missing ones are ignored.
        row_height: In pixels.
        order: Heads in reading order; None: a row for each layer.
        notes: Caption and hover text of heads.
        per_layer: Whether each map stands for all heads of its layer.
        place: Rows and columns highlighted in every map while no word is pointed at in another drawing.
        links: Names of the words that rows and columns belong to; None: nothing is highlighted from other drawings.

    Returns:
        Among others `weights`: for sentences of up to `MAX_CELL` tokens, the encoded weights of every head, so that a
        click can draw a head at once; `looks`: colour and dashes of heads by number.

    Raises:
        ValueError: There are no maps, or their sizes differ.
    """
    columns = _column_names(maps, per_layer)
    named_rows = grid_rows(maps, order)
    rows = [row for _, row in named_rows]
    sent = [each for each in maps if each.layer >= 0 and max(each.weights.shape[1:]) <= MAX_CELL]
    if order is not None:
        columns = [""] * len(columns)
        maps = _arranged(maps, rows)

    def cell(place: LayerHead) -> dict[str, Any]:
        mark = _mark(place[1], theme) if place in selected else None
        return _cell(*place, (notes or {}).get(place), mark, per_layer, order is not None)

    return {
        "picture": grid_picture(maps, theme),
        "columns": columns,
        "sorted": order is not None,
        "size": dict(zip(AXES, maps[0].weights.shape[1:], strict=True)),
        **highlight_data(place, links),
        "rowHeight": row_height,
        "weights": {each.layer: [encoded_weights(head) for head in shown_weights(each)] for each in sent},
        "hidden": {
            each.layer: [encoded_hidden(each, head) for head in range(each.num_heads)]
            for each in sent
            if each.hidden is not None
        },
        "looks": [asdict(theme.head_mark(head)) for head in range(len(columns))],
        "rows": [{"name": title, "cells": [cell(place) for place in row]} for title, row in named_rows],
    }


def _cell(
    layer: int, head: int, note: Note | None, mark: dict[str, str] | None, per_layer: bool, is_sorted: bool
) -> dict[str, Any]:
    """Return the cell of a head, see `Cell` in head_grid.js; a selected one has a mark of colour and line style."""
    name = head_names.layer_name(layer, head) if per_layer else head_names.name_of(layer, head)
    title = tr(head_names.COMBINED_TITLES[head]) if layer < 0 else name if is_sorted else ""
    badge = title or (name if per_layer else str(head + 1))
    name = tr(name) if layer < 0 else name
    note = note or Note("", name)
    return {
        "name": name,
        "title": title,
        "layer": layer,
        "head": head,
        "caption": note.caption,
        "text": note.text,
        "mark": mark and {**mark, "badge": badge},
    }


def _column_names(maps: Sequence[AttentionMap], per_layer: bool) -> list[str]:
    """Column names for the longest row of maps; the row of combinations may be longer than those of heads."""
    width = max((attention.num_heads for attention in maps), default=0)
    if per_layer:
        return [tr("all heads"), *[""] * (width - 1)]
    heads = max((attention.num_heads for attention in maps if attention.layer >= 0), default=0)
    return [f"H{head + 1}" if head < heads else "" for head in range(width)]


def grid_rows(
    maps: Sequence[AttentionMap], order: Sequence[LayerHead] | None = None
) -> list[tuple[str, list[LayerHead]]]:
    """Return the names and heads of the grid's rows.

    Rows are named by their layer or, in another order, by the rank of their first head.
    """
    if order is None:
        names = (f"L{attention.layer + 1}" if attention.layer >= 0 else tr("all") for attention in maps)
        return [
            (name, [(attention.layer, head) for head in range(attention.num_heads)])
            for name, attention in zip(names, maps, strict=True)
        ]
    width = max((attention.num_heads for attention in maps), default=0)
    return [(str(1 + start), list(order[start : start + width])) for start in range(0, len(order), width)]


def head_grid(
    payload: dict[str, Any], maps: Sequence[AttentionMap], on_click: Callable[[LayerHead], None], key: str = "head_grid"
) -> None:
    """Draw the grid of some maps on the page; `on_click` is called with a clicked head before the page runs again."""
    draw(_component, payload, key, "head", lambda value: clicked_head(value, maps), on_click)


def clicked_head(value: object, maps: Sequence[AttentionMap]) -> LayerHead | None:
    """Return the head that the browser sent, or None if there is no such head."""
    match value:
        case {"layer": int(layer), "head": int(head)} if any(
            each.layer == layer and 0 <= head < each.num_heads for each in maps
        ):
            return layer, head
        case _:
            return None


def _arranged(maps: Sequence[AttentionMap], rows: Sequence[Sequence[LayerHead]]) -> list[AttentionMap]:
    """Rearrange the maps of heads as if each row was a layer."""
    by_layer = {attention.layer: attention.weights for attention in maps}
    return [
        replace(maps[0], weights=torch.stack([by_layer[layer][head] for layer, head in row]), hidden=None)
        for row in rows
    ]


def _mark(head: int, theme: Theme) -> dict[str, str]:
    """Return colour, dashes and text colour of a selected head, whose number is shown too."""
    mark = theme.head_mark(head)
    return {
        "color": mark.color,
        "dash": {"solid": "solid", "dash": "dashed", "dot": "dotted"}[mark.dash],
        "text": readable_on(mark.color),
    }
