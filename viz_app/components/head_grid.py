"""All heads of all layers as one picture whose cells are buttons: look at all, click one."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2 import component

from core.capture import AttentionMap
from viz_app.figures.grid import INSET, grid_picture, readable_on
from viz_app.figures.theme import Theme, head_name

LayerHead = tuple[int, int]  # counted from 0

_here = Path(__file__)
_component = component(
    "headlight_head_grid",
    html='<div class="root"></div>',
    css=_here.with_suffix(".css").read_text(encoding="utf-8"),
    js=_here.with_suffix(".js").read_text(encoding="utf-8"),
)


def grid_payload(maps: Sequence[AttentionMap], theme: Theme, selected: Collection[LayerHead] = (), row_height: int = 58) -> dict[str, Any]:
    """What the browser needs to draw the grid.

    Args:
        maps: the layers of one kind of attention; they may differ in their number of heads.
        selected: heads to mark with their colour and number; what is not there is not marked.
        row_height: in pixels.

    Returns:
        `picture`: of all maps, see `grid_picture`; `rows`: for each layer its name and its heads: name, layer, head
        and, if it is selected, its mark; `inset`: the share of a cell that is free on each side.

    Raises:
        ValueError: no maps, or maps of different sentences.
    """
    return {
        "picture": grid_picture(maps, theme),
        "columns": max(attention.num_heads for attention in maps),
        "inset": INSET / (1 + 2 * INSET),  # of the whole cell; the picture measures it by the map
        "rowHeight": row_height,
        "rows": [
            {
                "name": f"L{attention.layer + 1}",
                "cells": [
                    {
                        "name": head_name(attention.layer, head),
                        "layer": attention.layer,
                        "head": head,
                        "mark": _mark(head, theme) if (attention.layer, head) in selected else None,
                    }
                    for head in range(attention.num_heads)
                ],
            }
            for attention in maps
        ],
    }


def head_grid(
    maps: Sequence[AttentionMap],
    theme: Theme,
    on_click: Callable[[LayerHead], None],
    *,
    selected: Collection[LayerHead] = (),
    key: str = "head_grid",
    row_height: int = 58,
) -> None:
    """Draw the grid on the page.

    Args:
        on_click: told which head was clicked, before the page runs again.
        selected, row_height: those of `grid_payload`.
        key: of the component, as for any widget.
    """

    def clicked() -> None:
        head = clicked_head(st.session_state[key].get("head"), maps)
        if head is not None:
            on_click(head)

    _component(data=grid_payload(maps, theme, selected, row_height), key=key, on_head_change=clicked)


def clicked_head(value: object, maps: Sequence[AttentionMap]) -> LayerHead | None:
    """What the browser sent as a head, or None if there is no such head."""
    match value:
        case {"layer": int(layer), "head": int(head)} if any(each.layer == layer and 0 <= head < each.num_heads for each in maps):
            return layer, head
        case _:
            return None


def _mark(head: int, theme: Theme) -> dict[str, str]:
    """A head is never told by its colour alone: its number stands on it."""
    mark = theme.head_mark(head)
    return {"color": mark.color, "dash": {"solid": "solid", "dash": "dashed", "dot": "dotted"}[mark.dash], "text": readable_on(mark.color)}
