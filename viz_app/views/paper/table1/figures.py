"""Table 1 of the paper, and curves over n or d with the O() predictions."""

import html
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

import pandas as pd
import plotly.graph_objects as go

from core.analysis.layers.layer_cost import Cost, takes_k, takes_r
from core.analysis.layers.layer_types import LAYER_TYPES, LayerType, Sizes
from core.analysis.layers.path_length import PathLength
from viz_app.drawing.plotly_chart import bare_axis, empty_figure, with_layout
from viz_app.drawing.theme import SMALL, Theme
from viz_app.language import compact, localized, marked, tr

Along = Literal["n", "d"]
Quantity = Literal["operations", "milliseconds", "megabytes"]
Counted = Literal["sequential", "path"]
Traces = Mapping[tuple[str, int], PathLength]  # by layer and n

SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up")
TITLES: dict[str, str] = {
    "operations": marked("multiplications"),
    "milliseconds": marked("milliseconds"),
    "megabytes": marked("megabytes"),
    "sequential": marked("sequential products"),
    "path": marked("products between the two farthest positions"),
}
VALUES: dict[Quantity, Callable[[Cost], float]] = {
    "operations": lambda cost: cost.operations,
    "milliseconds": lambda cost: cost.seconds * 1e3,
    "megabytes": lambda cost: cost.peak_bytes / 1e6,
}
HEIGHT = 430


# --- Data -------------------------------------------------------------------------------------------------------------


def matching_costs(costs: Sequence[Cost], layer: str, at: Sizes, along: Along | None = None) -> list[Cost]:
    """Return the measurements of a layer at these sizes, in order; n (or d) may differ with `along` "n" (or "d")."""

    def fits(cost: Cost) -> bool:
        return (
            cost.layer == layer
            and (along == "n" or cost.n == at.n)
            and (along == "d" or cost.d == at.d)
            and (not takes_k(layer) or cost.k == at.k)
            and (not takes_r(layer) or cost.r == at.r)
        )

    return sorted((cost for cost in costs if fits(cost)), key=lambda cost: (cost.n, cost.d))


def costs_table(costs: Sequence[Cost], at: Sizes, along: Along) -> pd.DataFrame:
    """Return the points of `cost_curves` with the O() predictions."""
    rows = [
        {
            "layer": tr(LAYER_TYPES[layer].name),
            "n": cost.n,
            "d": cost.d,
            "k": cost.k,
            "r": cost.r,
            "within_O": LAYER_TYPES[layer].bound(replace(at, n=cost.n, d=cost.d)),
            **{quantity: value(cost) for quantity, value in VALUES.items()},
        }
        for layer in LAYER_TYPES
        for cost in matching_costs(costs, layer, at, along)
    ]
    table = pd.DataFrame(rows, columns=["layer", "n", "d", "k", "r", "within_O", *VALUES])
    return table.astype({"k": "Int64", "r": "Int64"})


def traces_table(traces: Traces, at: Sizes) -> pd.DataFrame:
    """Return the counts, a row for each layer and n, with the O() predictions; missing where there is no path."""
    rows = [
        {
            "layer": tr(LAYER_TYPES[layer].name),
            "n": n,
            "k": at.k if takes_k(layer) else None,
            "r": at.r if takes_r(layer) else None,
            "sequential": trace.sequential,
            "sequential_within_O": LAYER_TYPES[layer].sequential_bound(replace(at, n=n)),
            "layers": trace.depth,
            "path": trace.path,
            "path_within_O": LAYER_TYPES[layer].path_bound(replace(at, n=n)),
        }
        for (layer, n), trace in traces.items()
    ]
    return pd.DataFrame(rows).astype({"k": "Int64", "r": "Int64", "layers": "Int64", "path": "Int64"})


# --- Curves -----------------------------------------------------------------------------------------------------------


def cost_curves(costs: Sequence[Cost], quantity: Quantity, at: Sizes, along: Along, theme: Theme) -> go.Figure:
    """Plot one quantity of all layers over n or d on logarithmic scales.

    Args:
        quantity: `operations` are counted, the others measured. Beside milliseconds a dashed line shows the O()
            prediction, scaled to meet the last measurement: where the two are parallel, the cost grows as in Table 1.
    """
    figure = empty_figure(theme, HEIGHT, margin=(64, 44, 16, 48))
    values: list[float] = []
    for index, (layer, layer_type) in enumerate(LAYER_TYPES.items()):
        measured = matching_costs(costs, layer, at, along)
        points = [(getattr(cost, along), VALUES[quantity](cost)) for cost in measured]
        values += [value for _, value in points]
        if quantity == "milliseconds" and len(points) > 1:
            within = [layer_type.bound(replace(at, n=cost.n, d=cost.d)) for cost in measured]
            _dashed(figure, [x for x, _ in points], within, points[-1][1], index, theme)
        _marked(figure, points, index, layer_type, theme, f"{along} = %{{x}}<br>%{{y:.4g}} {tr(TITLES[quantity])}")
    places = [getattr(cost, along) for layer in LAYER_TYPES for cost in matching_costs(costs, layer, at, along)]
    other: Along = "d" if along == "n" else "n"
    if values:
        here, crossover = getattr(at, along), getattr(at, other)
        _vertical(figure, crossover, "n = d", (min(values), max(values)), "dot", theme)
        if here != crossover:
            _vertical(figure, here, f"{along} = {here}", (min(values), max(values)), "solid", theme)
    return _axes(figure, places, values, along, tr(TITLES[quantity]), theme)


def growth_curves(traces: Traces, counted: Counted, at: Sizes, theme: Theme) -> go.Figure:
    """Plot counts in small instances over n, and dashed the O() prediction, scaled to meet the last count."""
    figure = empty_figure(theme, HEIGHT, margin=(64, 44, 16, 48))
    values: list[float] = []
    ns = sorted({n for _, n in traces})
    for index, (layer, layer_type) in enumerate(LAYER_TYPES.items()):
        traced = [(n, getattr(traces[layer, n], counted)) for n in ns if (layer, n) in traces]
        points: list[tuple[int, float]] = [(n, value) for n, value in traced if value is not None]
        values += [value for _, value in points]
        if len(points) > 1:
            bound = layer_type.sequential_bound if counted == "sequential" else layer_type.path_bound
            _dashed(
                figure,
                [n for n, _ in points],
                [bound(replace(at, n=n)) for n, _ in points],
                points[-1][1],
                index,
                theme,
            )
        _marked(figure, points, index, layer_type, theme, f"n = %{{x}}<br>%{{y}} {tr(TITLES[counted])}")
    return _axes(figure, ns, values, "n", tr(TITLES[counted]), theme)


def _marked(
    figure: go.Figure, points: Sequence[tuple[int, float]], index: int, layer_type: LayerType, theme: Theme, hover: str
) -> None:
    color = theme.head_mark(index).color
    figure.add_scatter(
        x=[x for x, _ in points],
        y=[y for _, y in points],
        mode="lines+markers",
        line={"color": color, "width": 2},
        marker={"color": color, "size": 8, "symbol": SYMBOLS[index]},
        name=tr(layer_type.name),
        hovertemplate=f"{tr(layer_type.name)}<br>{hover}<extra></extra>",
    )


def _dashed(
    figure: go.Figure, places: Sequence[int], within: Sequence[float], last: float, index: int, theme: Theme
) -> None:
    line = {"color": theme.head_mark(index).color, "width": 1.2, "dash": "dash"}
    scaled = [value * last / within[-1] for value in within]
    figure.add_scatter(x=list(places), y=scaled, mode="lines", line=line, showlegend=False, hoverinfo="skip")


def _vertical(figure: go.Figure, place: int, name: str, ends: tuple[float, float], dash: str, theme: Theme) -> None:
    """Draw a named vertical line, without legend or hover text."""
    figure.add_scatter(
        x=[place, place],
        y=[ends[0] / 1.6, ends[1] * (2.6 if dash == "dot" else 1.4)],
        mode="lines+text",
        text=["", name],
        textposition="top right",
        textfont={"size": SMALL, "color": theme.text if dash == "dot" else theme.faint},
        line={"color": theme.text if dash == "dot" else theme.faint, "width": 1, "dash": dash},
        showlegend=False,
        hoverinfo="skip",
    )


def _axes(
    figure: go.Figure, places: Sequence[int], values: Sequence[float], x_title: str, y_title: str, theme: Theme
) -> go.Figure:
    font = {"size": SMALL, "color": theme.faint}
    ticks = sorted(set(places))
    low, high = (min(values), max(values)) if values else (1.0, 10.0)
    settings = {"type": "log", "tickfont": {**font, "family": theme.monospace_font}}
    decades = [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    return with_layout(
        figure,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": SMALL}},
        hovermode="closest",
        xaxis=bare_axis(
            **settings,
            title={"text": x_title, "font": font, "standoff": 6},
            tickvals=ticks,
            range=[math.log10(ticks[0] / 1.25), math.log10(ticks[-1] * 1.35)] if ticks else [0, 1],
        ),
        yaxis={
            **bare_axis(**settings, title={"text": y_title, "font": font, "standoff": 6}),
            "showgrid": True,
            "gridcolor": theme.hairline,
            "tickvals": decades,
            "ticktext": [_number(value) if high >= 1e5 else localized(value, ",.15g") for value in decades],
            "range": [math.log10(low / 1.6), math.log10(high * 5)],
        },
    )


# --- The table --------------------------------------------------------------------------------------------------------


def formula(text: str) -> str:
    """Convert `O(n^2 d)` to HTML: letters in italics, powers raised, indices lowered."""
    italic = re.sub(r"(?<![a-z])([dknr])(?![a-z])", r"<i>\1</i>", text)
    return re.sub(r"_(<i>\w</i>)", r"<sub>\1</sub>", re.sub(r"\^(\d)", r"<sup>\1</sup>", italic))


def table_1(costs: Sequence[Cost], at: Sizes) -> str:
    """Return the paper's Table 1 with the numbers of these sizes as HTML; unmeasured cells are empty."""
    head = "".join(
        f"<th>{html.escape(title)}</th>"
        for title in (
            tr("Layer"),
            tr("Complexity"),
            tr("Multiplications"),
            tr("Sequential operations"),
            tr("Maximum path length"),
            tr("Time"),
            tr("Memory"),
        )
    )
    fewest = min(layer_type.operations(at) for layer_type in LAYER_TYPES.values())
    rows: list[str] = []
    for layer, layer_type in LAYER_TYPES.items():
        operations = layer_type.operations(at)
        measured = matching_costs(costs, layer, at)
        cells = [
            formula(layer_type.complexity),
            f"<b>{_number(operations)}</b>" if operations == fewest else _number(operations),
            formula(layer_type.sequential),
            formula(layer_type.path(at.dilated)),
            f"{localized(measured[0].seconds * 1e3, '.3g')} ms" if measured else "",
            f"{localized(measured[0].peak_bytes / 1e6, '.3g')} MB" if measured else "",
        ]
        rows.append(
            f"<tr><th>{html.escape(tr(layer_type.name))}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        )
    return (
        f'<div class="table-1" role="group" aria-label="{html.escape(tr("Table 1"))}" tabindex="0"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def crossover(at: Sizes) -> str:
    """Compare the multiplications of self-attention and recurrence in a sentence."""
    if at.n == at.d:
        return tr(
            "At n = d = {n}, self-attention and a recurrent layer make the same number of multiplications.", n=at.n
        )
    factor = localized(max(at.n, at.d) / min(at.n, at.d), ".3g")
    if at.n < at.d:
        return tr(
            "At n = {n} < d = {d}, self-attention makes {factor} times fewer multiplications than a recurrent layer.",
            n=at.n,
            d=at.d,
            factor=factor,
        )
    return tr(
        "At n = {n} > d = {d}, a recurrent layer makes {factor} times fewer multiplications than self-attention.",
        n=at.n,
        d=at.d,
        factor=factor,
    )


def measured_crossover(costs: Sequence[Cost], at: Sizes, along: Along) -> float | None:
    """Return the n (or d) at which self-attention and recurrence took the same time.

    Interpolated on a logarithmic scale; None where the curves do not cross exactly once.
    """
    attention, recurrent = (
        {getattr(cost, along): cost.seconds for cost in matching_costs(costs, layer, at, along)}
        for layer in ("self_attention", "recurrent")
    )
    ahead = [
        (place, math.log(attention[place] / recurrent[place])) for place in sorted(attention.keys() & recurrent.keys())
    ]
    crossed = [(one, two) for one, two in pairwise(ahead) if one[1] * two[1] <= 0 and one[1] != two[1]]
    if len(crossed) != 1:
        return None
    (left, before), (right, after) = crossed[0]
    return left * (right / left) ** (before / (before - after))


def _number(value: float) -> str:
    """Format a number with three digits and a unit: `8.39 M`."""
    return compact(value) if value >= 1000 else localized(value, ".3g")
