"""All heads of all layers at a glance."""

import base64
import io
from collections.abc import Collection, Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from PIL import Image

from core.capture import AttentionMap
from viz_app.figures.base import bare_axis, empty_figure
from viz_app.figures.theme import Theme, head_name

MAX_CELL = 48  # positions drawn along a side of a cell; a longer sentence is reduced to that
CELL_PIXELS = 96  # short sentences are blown up to about that, so that the browser does not blur them
SHADES = 64  # more cannot be told apart in a cell, and would weigh more
CLEAR = SHADES  # the palette's index for "nothing here"
INSET = 0.05  # of a cell, left free on each side


def head_grid(
    maps: Sequence[AttentionMap], theme: Theme, selected: Collection[tuple[int, int]] = (), *, row_height: int = 72, hover: str = "%{text}"
) -> go.Figure:
    """One small map for each head: a row a layer, the first on top, a column a head. Colours run from 0 to 1, as everywhere.

    All maps are one layout image, so a click needs something to hit: an invisible marker in the middle of each cell,
    with `customdata` (layer, head). The nearest marker answers, which in a grid is that of the cell under the pointer.

    Args:
        maps: the layers of one kind of attention; they may differ in their number of heads.
        selected: (layer, head) pairs, counted from 0, to outline.
        row_height: in pixels.
        hover: Plotly's template for what a cell says; `%{text}` is the head's name.

    Raises:
        ValueError: no maps, or maps of different sentences.
    """
    if not maps:
        raise ValueError("no attention maps to draw: pass one for each layer")
    sizes = {tuple(attention.weights.shape[1:]) for attention in maps}
    if len(sizes) > 1:
        found = ", ".join(f"{queries} x {keys}" for queries, keys in sorted(sizes))
        raise ValueError(f"the maps have different sizes ({found}): pass the layers of one sentence and kind")
    columns = max(attention.num_heads for attention in maps)
    figure = empty_figure(theme, height=row_height * len(maps) + 26, margin=(30, 24, 2, 2))
    figure.add_layout_image(
        source=_png(_tile(maps, columns), theme),
        xref="x",
        yref="y",
        x=-0.5,
        y=-0.5,
        sizex=columns,
        sizey=len(maps),
        sizing="stretch",
        layer="below",
    )
    cells = [(layer, head) for layer, attention in enumerate(maps) for head in range(attention.num_heads)]
    names = [(maps[layer].layer, head) for layer, head in cells]
    invisible = {"marker": {"opacity": 0}}
    figure.add_scatter(
        x=[head for _, head in cells],
        y=[layer for layer, _ in cells],
        mode="markers",
        marker={"size": 6, "opacity": 0},
        selected=invisible,
        unselected=invisible,
        customdata=names,
        text=[head_name(layer, head) for layer, head in names],
        hovertemplate=hover + "<extra></extra>",
    )
    rows = {attention.layer: row for row, attention in enumerate(maps)}
    marked = [(layer, head) for layer, head in selected if layer in rows and head < maps[rows[layer]].num_heads]
    figure.update_layout(
        shapes=[_frame(head, layer, theme.hairline, 1) for layer, head in cells if (maps[layer].layer, head) not in marked]
        + [_frame(head, rows[layer], theme.head_mark(head).color, 3, theme.head_mark(head).dash) for layer, head in marked],
        annotations=[_badge(head, rows[layer], theme) for layer, head in marked],
        hoverdistance=-1,
        hovermode="closest",
        clickmode="event+select",
        xaxis=_names_axis(theme, [f"H{head + 1}" for head in range(columns)], side="top", range=[-0.5, columns - 0.5]),
        yaxis=_names_axis(theme, [f"L{attention.layer + 1}" for attention in maps], range=[len(maps) - 0.5, -0.5]),
    )
    return figure


def _tile(maps: Sequence[AttentionMap], columns: int) -> NDArray[np.uint8]:
    """All maps in one picture of shade indices: 0 to SHADES - 1 for the weights, CLEAR for the rest."""
    queries, keys = (min(size, MAX_CELL) for size in maps[0].weights.shape[1:])
    height, width = (size * max(1, CELL_PIXELS // size) for size in (queries, keys))
    gap_y, gap_x = round(height * INSET), round(width * INSET)
    tile = np.full((len(maps) * (height + 2 * gap_y), columns * (width + 2 * gap_x)), CLEAR, dtype=np.uint8)
    for row, attention in enumerate(maps):
        weights = attention.weights.clamp(0, 1).numpy()
        shades = (_reduced(_reduced(weights, 1), 2) * (SHADES - 1)).round().astype(np.uint8)  # [H, queries, keys]
        for head, shade in enumerate(shades):
            top, left = row * (height + 2 * gap_y) + gap_y, head * (width + 2 * gap_x) + gap_x
            tile[top : top + height, left : left + width] = shade.repeat(height // queries, 0).repeat(width // keys, 1)
    return tile


def _reduced(weights: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    """At most MAX_CELL positions along an axis, each the largest of those it stands for: a thin diagonal stays in sight."""
    size = weights.shape[axis]
    if size <= MAX_CELL:
        return weights
    return np.maximum.reduceat(weights, np.arange(MAX_CELL) * size // MAX_CELL, axis=axis)


def _png(tile: NDArray[np.uint8], theme: Theme) -> str:
    image = Image.fromarray(tile)
    image.putpalette(theme.shades(SHADES).tobytes() + bytes(3))
    file = io.BytesIO()
    image.save(file, "PNG", transparency=CLEAR, compress_level=9)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def _frame(column: int, row: int, color: str, width: int, dash: str = "solid") -> dict[str, object]:
    reach = 0.5 - INSET
    return {
        "type": "rect",
        "x0": column - reach,
        "x1": column + reach,
        "y0": row - reach,
        "y1": row + reach,
        "line": {"color": color, "width": width, "dash": dash},
    }


def _badge(column: int, row: int, theme: Theme) -> dict[str, object]:
    """The number of a selected head on its colour: a head is never told by colour alone."""
    color = theme.head_mark(column).color
    return {
        "x": column - 0.5 + INSET,
        "y": row - 0.5 + INSET,
        "xanchor": "left",
        "yanchor": "top",
        "text": f"<b>{column + 1}</b>",
        "showarrow": False,
        "bgcolor": color,
        "borderpad": 2,
        "font": {"family": theme.monospace_font, "size": 11, "color": readable_on(color)},
    }


def readable_on(color: str) -> str:
    """Black or white, whichever stands out more from a colour."""
    red, green, blue = (int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))
    luminance = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2
    return "#000000" if luminance > 0.18 else "#ffffff"  # the two contrasts are equal at 0.179


def _names_axis(theme: Theme, names: Sequence[str], **settings: object) -> dict[str, object]:
    font = {"family": theme.monospace_font, "size": 12, "color": theme.faint}
    return bare_axis(tickmode="array", tickvals=list(range(len(names))), ticktext=list(names), tickfont=font, **settings)
