"""Common parts of all Plotly figures, and what a figure shows in words, for screen readers."""

import html
import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_app.drawing.theme import NOTE, SMALL, Theme
from viz_app.language import all_in_symbols, language, marked, symbols, tr

CHART_CONFIG: dict[str, Any] = {"displayModeBar": False, "scrollZoom": False, "doubleClick": False, "showTips": False}


def escaped(text: str) -> str:
    """Escape text for Plotly, which parses tags and entities in labels."""
    return html.escape(text, quote=False)


def empty_figure(theme: Theme, height: int, margin: tuple[int, int, int, int] = (8, 8, 8, 8)) -> go.Figure:
    """Return an empty figure with the theme's fonts and colours, and numbers as in the visitor's language.

    Args:
        height: In pixels; the width is that of its container.
        margin: Left, top, right, bottom, in pixels.
    """
    # Plotly uses the types of pandas as soon as any thread has begun to import it, when it may not have them yet.
    importlib.import_module("pandas")
    left, top, right, bottom = margin
    own = symbols(language())
    return go.Figure(
        layout={
            "template": None,
            "separators": own.decimal + own.group,
            "height": height,
            "margin": {"l": left, "t": top, "r": right, "b": bottom, "pad": 0},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": theme.interface_font, "size": NOTE, "color": theme.text},
            "hoverlabel": {
                "bgcolor": theme.background,
                "bordercolor": theme.hairline,
                "font": {"family": theme.monospace_font, "size": NOTE, "color": theme.text},
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
    """Return settings of an axis that has no line, grid or ticks, and cannot be dragged.

    Names along it lie; where they have no room they are turned by 45 degrees, and upright at last.
    """
    bare = {"showgrid": False, "zeroline": False, "showline": False, "ticks": "", "fixedrange": True}
    return {**bare, "autotickangles": [0, 45, 90], **settings}


def number_axis(theme: Theme, title: str, **settings: Any) -> dict[str, Any]:
    """Return settings of a bare axis with numbers and a title, all in small faint type."""
    faint = {"size": SMALL, "color": theme.faint}
    numbers = {"showticklabels": True, "tickfont": {**faint, "family": theme.monospace_font}}
    return bare_axis(title={"text": title, "font": faint, "standoff": 6}, **numbers, **settings)


def legend_above() -> dict[str, Any]:
    """Return settings of a layout with a legend above the figure."""
    legend = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": SMALL}}
    return {"showlegend": True, "legend": legend}


def color_bar(theme: Theme, title: str) -> dict[str, Any]:
    """Return settings of a small horizontal colour bar below a figure, at its left."""
    font = {"size": SMALL, "color": theme.faint}
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


MOST_SERIES = 10  # described one by one
TAGS = re.compile(r"<[^>]*>")


class Series(NamedTuple):
    """Values in the order of drawing, and the names of their places."""

    name: str
    values: np.ndarray  # [points], finite and not empty
    places: Sequence[Any]  # of each value; numbers or texts
    is_line: bool


def chart_text(figure: go.Figure) -> str:
    """Describe the axes of a figure and the range of each of its series, in sentences.

    Series are the traces in the legend or, without one, all that answer the pointer, taken together: the others are
    lines that help the eye. A figure without a scale of values is described by the labels along it.
    """
    layout: Any = figure.layout
    labels = [_plain(text) for text in layout.xaxis.ticktext or ()]
    if layout.yaxis.showticklabels is False:
        return "; ".join(labels)
    in_legend = [trace for trace in _traces(figure) if trace.name and trace.showlegend is not False]
    drawn = in_legend or [trace for trace in _traces(figure) if trace.hoverinfo != "skip"]
    described = [each for trace in drawn if (each := _series(trace, layout)) is not None]
    if not in_legend and described:
        described = [_together(described)]
    sentences = [
        *_axis_sentence(marked("Horizontal axis"), layout.xaxis, [trace.x for trace in drawn if trace.x is not None]),
        *_axis_sentence(marked("Vertical axis"), layout.yaxis, [trace.y for trace in drawn if trace.y is not None]),
        *map(_series_sentence, described[:MOST_SERIES]),
    ]
    if more := len(described[MOST_SERIES:]):
        sentences.append(tr("Further series: {count}.", count=more))
    return " ".join(sentences)


def _traces(figure: go.Figure) -> Sequence[Any]:
    return figure.data  # pyright: ignore[reportReturnType]


def _axis_sentence(axis: str, settings: Any, values: Sequence[Any]) -> Iterator[str]:
    """Name an axis, its title and its range; nothing for one without values."""
    numbers = [np.asarray(each, dtype=np.float64) for each in values if _is_numeric(each)]
    finite = np.concatenate([each[np.isfinite(each)] for each in numbers]) if numbers else np.zeros(0)
    names = list(settings.ticktext or ()) or [str(name) for each in values if not _is_numeric(each) for name in each]
    if names:
        first, last = _plain(names[0]), _plain(names[-1])
    elif finite.size:
        first, last = _numbers([finite.min(), finite.max()])
    else:
        return
    title = _plain(settings.title.text or "")
    if title:
        yield tr("{axis}: {title}, {first} to {last}.", axis=tr(axis), title=title, first=first, last=last)
    else:
        yield tr("{axis}: {first} to {last}.", axis=tr(axis), first=first, last=last)


def _series_sentence(series: Series) -> str:
    low, high = int(series.values.argmin()), int(series.values.argmax())
    ends = {"low": low, "high": high, "begin": 0, "end": -1}
    numbers = dict(zip(ends, _numbers(series.values[[*ends.values()]]), strict=True))
    if series.values[low] == series.values[high]:
        return tr("{name}: {value} everywhere.", name=series.name, value=numbers["low"])
    values = {
        "name": series.name,
        **numbers,
        "low_place": _place(series.places[low]),
        "high_place": _place(series.places[high]),
    }
    if series.is_line:
        return tr(
            "{name}: {begin} at first, {end} at last; lowest {low} at {low_place}, highest {high} at {high_place}.",
            **values,
        )
    return tr("{name}: lowest {low} at {low_place}, highest {high} at {high_place}.", **values)


def _series(trace: Any, layout: Any) -> Series | None:
    """Return the finite values of a trace; None if there are none."""
    if trace.type == "heatmap":
        values, places = _extremes(np.asarray(trace.z, dtype=np.float64))
    else:
        is_across = _is_numeric(trace.x) and not _is_numeric(trace.y)  # values are along the horizontal axis
        along, values, axis = (trace.y, trace.x, layout.yaxis) if is_across else (trace.x, trace.y, layout.xaxis)
        names = dict(zip(axis.tickvals or (), axis.ticktext or (), strict=False))
        places = trace.text if isinstance(trace.text, tuple | list) else [names.get(place, place) for place in along]
        values = np.asarray(values, dtype=np.float64)
    finite: list[int] = np.flatnonzero(np.isfinite(values)).tolist()
    is_line = trace.type == "scatter" and "lines" in (trace.mode or "")
    if not finite:
        return None
    return Series(_plain(trace.name or ""), values[finite], [places[each] for each in finite], is_line)


def _extremes(cells: np.ndarray) -> tuple[np.ndarray, Sequence[str]]:
    """Return the least and the largest of values [rows, columns], and their places."""
    if np.isnan(cells).all():
        return np.zeros(0), []
    ends = [np.unravel_index(find(cells), cells.shape) for find in (np.nanargmin, np.nanargmax)]
    return np.array([cells[end] for end in ends]), [f"({row}, {column})" for row, column in ends]


def _together(parts: Sequence[Series]) -> Series:
    """Return the values of several series as one."""
    values = np.concatenate([series.values for series in parts])
    places = [place for series in parts for place in series.places]
    return Series(tr("All values"), values, places, len(parts) == 1 and parts[0].is_line)


def _place(label: Any) -> str:
    return _plain(label) if isinstance(label, str) else _numbers([label])[0]


def _is_numeric(values: Any) -> bool:
    return values is not None and np.issubdtype(np.asarray(values).dtype, np.number)


def _numbers(values: Iterable[float]) -> list[str]:
    """Format numbers for reading aloud: three digits, or whole thousands."""
    texts = [format(float(value), ",.0f" if 1000 <= abs(value) < 1e9 else ".3g") for value in values]
    return all_in_symbols(texts)


def _plain(text: str) -> str:
    """Return a label of Plotly without its tags."""
    return " ".join(html.unescape(TAGS.sub(" ", str(text))).split())
