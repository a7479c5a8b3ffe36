"""Plotly figures as SVG, PDF or PNG without a browser.

Libraries were tried with a heatmap of 256 x 256 cells, but not adopted. Kaleido 1.5, Plotly's exporter, drives
Chrome, which users of the app need not have and which as root starts only with its sandbox off. It is faster (0.7 s
against 4.9 s for an SVG) and its files are smaller (SVG 0.3 MB against 6.5 MB), because it writes the cells of a
heatmap as one bitmap even in SVG and PDF; here they are vectors. vl-convert 1.9 needs no browser, but it converts Vega,
Vega-Lite and SVG only: each figure would have to be written twice, and as Vega-Lite the heatmap is an SVG of 11.4 MB.
"""

import html
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz_app.drawing.export.canvas import (
    LABEL_POINTS,
    SMALL_POINTS,
    Format,
    cells,
    check_format,
    color_scale,
    paper,
    saved,
)
from viz_app.drawing.theme import LIGHT, Theme
from viz_app.language import in_symbols

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PIXELS = 96  # of a drawing on the page, to an inch on paper
WIDTH = 680  # pixels: the width on the page is unknown
DASHES: dict[str | None, Any] = {"dash": (0, (4, 2)), "dot": (0, (1, 1.5)), "dashdot": "dashdot"}
SYMBOLS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "cross": "P",
    "x": "X",
    "triangle-up": "^",
    "circle-open": "o",
    "diamond-open": "D",
}


def export_chart(chart: go.Figure, file_format: Format, theme: Theme = LIGHT) -> bytes:
    """Return a chart with heatmaps, lines, markers and bars on one pair of axes as a file.

    Args:
        chart: Made by a function of `viz_app.drawing`.
        theme: The one that it was made with.

    Raises:
        ValueError: The format is not one of `FORMATS`, or the figure contains something that cannot be exported.
    """
    check_format(file_format)
    layout: Any = chart.layout  # its declared type has none of its attributes
    figure, axes = paper(WIDTH / PIXELS, (layout.height or 420) / PIXELS, theme)
    stacks: dict[Any, tuple[float, float]] = {}
    for trace in chart.data:
        if trace.type not in ("heatmap", "scatter", "scattergl", "bar"):
            raise ValueError(f"a trace of type {trace.type} cannot be exported: expected heatmap, scatter or bar")
        if (trace.xaxis or "x", trace.yaxis or "y") != ("x", "y"):
            raise ValueError(
                f"a drawing with more than one pair of axes ({trace.xaxis}, {trace.yaxis}) cannot be exported"
            )
        if trace.type in ("scatter", "scattergl") and trace.error_y.visible:
            raise ValueError("error bars along the y axis cannot be exported: expected error_x")
        if trace.type == "heatmap":
            _heatmap(figure, axes, trace, theme)
        elif trace.type == "bar":
            stacks = _bars(axes, trace, stacks)
        else:
            _scatter(axes, trace, theme)
    _straight_lines(axes, layout.shapes, theme)
    _axis(axes, "x", layout.xaxis, theme)
    _axis(axes, "y", layout.yaxis, theme)
    for spine in axes.spines.values():
        spine.set_color(theme.hairline)
    if layout.showlegend and axes.get_legend_handles_labels()[1]:
        legend = axes.legend(
            frameon=False,
            fontsize=SMALL_POINTS,
            labelcolor=theme.text,
            loc="lower left",
            bbox_to_anchor=(0, 1.0),
            ncols=3,
        )
        for text in legend.get_texts():
            text.set_parse_math(False)
    return saved(figure, file_format)


def plain_text(markup: str | None) -> str:
    """Convert Plotly's markup to text: no tags, entities replaced."""
    return html.unescape(re.sub(r"<[^>]*>", "", (markup or "").replace("<br>", "\n")))


def _heatmap(figure: "Figure", axes: "Axes", trace: Any, theme: Theme) -> None:
    values = _finite(trace.z)
    values = values if values.ndim == 2 else np.empty((0, 0))  # there are no rows
    drawn = values[~np.isnan(values)]
    least, most = (float(drawn.min()), float(drawn.max())) if drawn.size else (0.0, 1.0)
    low, high = (_finite(given, bound).item() for given, bound in ((trace.zmin, least), (trace.zmax, most)))
    colors = [color for _, color in trace.colorscale]
    cells(axes, values, colors, low, high if high > low else low + max(1.0, abs(low)))
    color_scale(figure, axes, colors, low, high, plain_text(trace.colorbar.title.text), theme)


def _finite(values: Any, other: float = np.nan) -> NDArray[np.float64]:
    """Return numbers with another one in place of None, NaN and infinite ones."""
    numbers = np.asarray(values, dtype=float)
    return np.where(np.isfinite(numbers), numbers, other)


def _scatter(axes: "Axes", trace: Any, theme: Theme) -> None:
    x, y, mode = _places(trace.x), _heights(axes, trace.y), trace.mode or "lines"
    name = plain_text(trace.name) if trace.name and trace.showlegend is not False else None
    if "lines" in mode:
        style = DASHES.get(trace.line.dash, "solid")
        axes.plot(
            x,
            y,
            color=trace.line.color or theme.text,
            linestyle=style,
            linewidth=0.75 * (trace.line.width or 2),
            label=name,
        )
        name = None
    if "markers" in mode:
        marker = trace.marker
        colors = marker.color if marker.color is not None else trace.line.color or theme.text
        colors = colors if isinstance(colors, str) else list(colors)
        size = (0.75 * np.asarray(6 if marker.size is None else marker.size, dtype=float)) ** 2
        look: dict[str, Any] = (
            {"edgecolors": marker.line.color, "linewidths": 0.75 * marker.line.width}
            if marker.line.width
            else {"linewidths": 0}
        )
        look |= {"facecolors": "none", "edgecolors": colors} if str(marker.symbol).endswith("-open") else {"c": colors}
        axes.scatter(x, y, s=size, marker=SYMBOLS.get(marker.symbol or "circle", "o"), label=name, zorder=3, **look)
    if (bars := trace.error_x).visible:
        axes.errorbar(
            x,
            y,
            xerr=_finite([bars.arrayminus, bars.array]),
            fmt="none",
            ecolor=bars.color,
            elinewidth=0.75 * bars.thickness,
            capthick=0.75 * bars.thickness,
            capsize=0.75 * bars.width,
        )
    if "text" in mode:
        for place, height, text in zip(x, y, trace.text, strict=True):
            label = plain_text(text)
            axes.annotate(
                label,
                (place, height),
                (3, 3),
                textcoords="offset points",
                fontsize=SMALL_POINTS,
                color=theme.text,
                parse_math=False,
            )


def _bars(axes: "Axes", trace: Any, stacks: dict[Any, tuple[float, float]]) -> dict[Any, tuple[float, float]]:
    """Stack bars above and below 0, as Plotly's `relative` mode does.

    Args:
        stacks: Where the bars so far end, below and above 0, by their place.
    """
    ends = dict(stacks)
    for place, height in zip(trace.x, _finite(trace.y, 0.0).tolist(), strict=True):
        low, high = ends.get(place, (0.0, 0.0))
        bottom = low if height < 0 else high
        label = plain_text(trace.name) if place == trace.x[0] else None
        axes.bar([place], [height], 0.65, bottom=bottom, color=trace.marker.color, linewidth=0, label=label)
        ends[place] = (low + height, high) if height < 0 else (low, high + height)
    return ends


def _places(values: Sequence[Any]) -> Any:
    """Return the x values of marks: numbers, or names."""
    places = np.asarray(values)
    return _finite(places) if places.dtype.kind == "f" else places


def _heights(axes: "Axes", values: Sequence[Any]) -> Any:
    """Return the y values of marks; names become whole numbers with the names as tick labels."""
    if not len(values) or not isinstance(values[0], str):
        return _finite(values)
    names = [plain_text(value) for value in values]
    for tick in axes.set_yticks(range(len(names))):
        tick.label1.set_parse_math(False)
    axes.yaxis.set_ticklabels(names)
    axes.set_ylim(-0.5, len(names) - 0.5)
    return np.arange(len(names))


def _straight_lines(axes: "Axes", shapes: Sequence[Any], theme: Theme) -> None:
    """Draw horizontal and vertical lines, such as the one at 0."""
    for shape in shapes:
        style: dict[str, Any] = {
            "color": shape.line.color or theme.faint,
            "linewidth": 0.75 * (shape.line.width or 1),
            "zorder": 1,
        }
        style["linestyle"] = DASHES.get(shape.line.dash, "solid")
        if shape.type == "line" and shape.y0 == shape.y1:
            axes.axhline(shape.y0, **style)
        elif shape.type == "line" and shape.x0 == shape.x1:
            axes.axvline(shape.x0, **style)


def _axis(axes: "Axes", side: str, given: Any, theme: Theme) -> None:
    """Set range, scale, ticks and title of one axis."""
    axis = axes.xaxis if side == "x" else axes.yaxis
    set_limits, set_title = (axes.set_xlim, axes.set_xlabel) if side == "x" else (axes.set_ylim, axes.set_ylabel)
    if given.type == "log":
        (axes.set_xscale if side == "x" else axes.set_yscale)("log")
    if given.range is not None:
        set_limits(*(10.0**end if given.type == "log" else end for end in given.range))
    elif given.autorange == "reversed":
        axis.set_inverted(True)
    if given.side == "top":
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
    if given.scaleanchor:
        axes.set_aspect("equal")  # circles stay round
    if given.showticklabels is False:
        axis.set_ticks([])
    elif given.tickvals is not None:
        _ticks(axis, given)
    if given.showgrid and given.gridcolor:
        axis.grid(True, color=given.gridcolor, linewidth=0.6, zorder=0)
        axes.set_axisbelow(True)
    axis.set_tick_params(length=0, which="both", labelsize=SMALL_POINTS, labelcolor=theme.faint)
    set_title(plain_text(given.title.text), fontsize=LABEL_POINTS, color=theme.faint, parse_math=False)


def _ticks(axis: Any, given: Any) -> None:
    values: Sequence[Any] = list(given.tickvals)
    labels = [in_symbols(str(value)) if isinstance(value, int | float) else plain_text(str(value)) for value in values]
    if given.ticktext is not None:
        labels = [plain_text(str(text)) for text in given.ticktext]
    for tick in axis.set_ticks(values):
        for text in (tick.label1, tick.label2):
            text.set_parse_math(False)
    axis.set_ticklabels(labels)
