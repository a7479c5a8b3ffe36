"""Common parts of all Plotly figures."""

import html
import importlib
from typing import Any

import plotly.graph_objects as go

from viz_app.drawing.theme import Theme

CHART_CONFIG: dict[str, Any] = {"displayModeBar": False, "scrollZoom": False, "doubleClick": False, "showTips": False}


def escaped(text: str) -> str:
    """Escape text for Plotly, which parses tags and entities in labels."""
    return html.escape(text, quote=False)


def empty_figure(theme: Theme, height: int, margin: tuple[int, int, int, int] = (8, 8, 8, 8)) -> go.Figure:
    """Return an empty figure with the theme's fonts and colours.

    Args:
        height: In pixels; the width is that of its container.
        margin: Left, top, right, bottom, in pixels.
    """
    # Plotly uses the types of pandas as soon as any thread has begun to import it, when it may not have them yet.
    importlib.import_module("pandas")
    left, top, right, bottom = margin
    return go.Figure(
        layout={
            "template": None,
            "height": height,
            "margin": {"l": left, "t": top, "r": right, "b": bottom, "pad": 0},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": theme.interface_font, "size": 13, "color": theme.text},
            "hoverlabel": {
                "bgcolor": theme.background,
                "bordercolor": theme.hairline,
                "font": {"family": theme.monospace_font, "size": 13, "color": theme.text},
                "align": "left",
                "namelength": 0,
            },
            "dragmode": False,
            "showlegend": False,
        }
    )


def with_layout(figure: go.Figure, **parts: Any) -> go.Figure:
    """Set parts of a figure's layout, and return the figure.

    `update_layout`, which merges new parts with those before, takes several times as long.
    """
    for name, part in parts.items():
        figure.layout[name] = part
    return figure


def bare_axis(**settings: Any) -> dict[str, Any]:
    """Return settings of an axis without line, grid or ticks that cannot be dragged."""
    return {"showgrid": False, "zeroline": False, "showline": False, "ticks": "", "fixedrange": True, **settings}


def color_bar(theme: Theme, title: str) -> dict[str, Any]:
    """Return settings of a small horizontal colour bar below a figure, at its left."""
    font = {"size": 11, "color": theme.faint}
    return {
        "title": {"text": title, "side": "right", "font": font},
        "tickfont": {**font, "family": theme.monospace_font},
        "orientation": "h",
        "thickness": 8,
        "len": 180,
        "lenmode": "pixels",
        "x": 0,
        "xanchor": "left",
        "xpad": 0,
        "y": 0,
        "yanchor": "top",
        "ypad": 10,
        "nticks": 3,
        "outlinewidth": 0,
        "ticks": "",
    }
