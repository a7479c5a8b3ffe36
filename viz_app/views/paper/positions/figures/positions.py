"""Position encodings (3.5) as heatmap, sinusoids, similarities and rotations."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from torch import Tensor

from core.analysis import positions
from core.analysis.positions import Measure
from core.model import sinusoidal_encoding
from viz_app.drawing.plotly_chart import bare_axis, color_bar, empty_figure, with_layout
from viz_app.drawing.theme import SMALL, Theme
from viz_app.language import localized, marked, tr

CLOCK_PITCH = 2.6  # from one clock to the next, their radius being 1
KINDS = {"reverse-learned": marked("learned"), "reverse": marked("sinusoidal")}  # by preset
STEPS = 8  # points of a drawn curve between two positions, so that the fastest wave is round


def encoding_heatmap(encoding: Tensor, theme: Theme) -> go.Figure:
    """Draw an encoding [positions, D], in colours up to its largest value (1 for sinusoids)."""
    figure = _heatmap(encoding.numpy(), float(encoding.abs().max()), theme, tr("encoding"), 420)
    figure.update_traces(hovertemplate=f"{_numbered('%{y}', '%{x}')}<br>%{{z:.3f}}<extra></extra>")
    return with_layout(figure, xaxis_title_text=tr("dimension"), yaxis_title_text=tr("position"))


def sinusoids(dimensions: Sequence[int], num_positions: int, d_model: int, theme: Theme) -> go.Figure:
    """Plot some dimensions over the positions, which take the values at the dots only.

    Raises:
        ValueError: There is no such dimension.
    """
    for dimension in dimensions:
        if not 0 <= dimension < d_model:
            raise ValueError(f"dimension {dimension} is not among 0 to {d_model - 1}, those of d_model {d_model}")
    encoding = sinusoidal_encoding(num_positions, d_model)
    periods = positions.wavelengths(d_model)
    places = np.arange((num_positions - 1) * STEPS + 1) / STEPS
    figure = empty_figure(theme, 320, margin=(44, 44, 8, 40))
    for index, dimension in enumerate(dimensions):
        period = periods[dimension // 2].item()
        curve = (np.cos if dimension % 2 else np.sin)(places * 2 * np.pi / period)
        mark = theme.head_mark(index)
        values = {"dimension": dimension, "period": localized(period, ",.1f")}
        name = (
            tr("{dimension} (cosine, period {period})", **values)
            if dimension % 2
            else tr("{dimension} (sine, period {period})", **values)
        )
        line = {"color": mark.color, "width": 1.5, "dash": mark.dash}
        figure.add_scatter(
            x=places.astype(np.float32),
            y=curve.astype(np.float32),
            mode="lines",
            line=line,
            name=name,
            hoverinfo="skip",
        )
        figure.add_scatter(
            x=np.arange(num_positions, dtype=np.int16),
            y=encoding[:, dimension].numpy(),
            mode="markers",
            marker={"color": mark.color, "size": 4},
            showlegend=False,
            hovertemplate=f"{_numbered('%{x}', dimension)}<br>%{{y:.3f}}<extra></extra>",
        )
    legend = {
        "orientation": "h",
        "x": 0,
        "y": 1,
        "yanchor": "bottom",
        "title": {"text": f"{tr('dimension')} ", "font": {"size": SMALL}},
        "font": {"size": SMALL},
    }
    grid = {"showgrid": True, "gridcolor": theme.hairline}
    return with_layout(
        figure,
        showlegend=True,
        legend=legend,
        hovermode="closest",
        xaxis=_number_axis(theme, tr("position"), range=[-0.5, num_positions - 0.5]),
        yaxis=_number_axis(theme, tr("encoding"), range=[-1.1, 1.1], **grid),
    )


MEASURE_NAMES: dict[Measure, str] = {
    "dot": marked("dot product"),
    "cosine": marked("cosine"),
    "distance": marked("distance"),
}


def position_similarity(encoding: Tensor, theme: Theme, measure: Measure = "dot") -> go.Figure:
    """Draw the similarity of all pairs of positions of an encoding [positions, D]."""
    similarity = positions.position_similarity(encoding, measure)
    most = 1.0 if measure == "cosine" else float(similarity.abs().max())
    figure = _heatmap(similarity.numpy(), most, theme, tr(MEASURE_NAMES[measure]), 460)
    places = tr("positions {row} and {column}", row="%{y}", column="%{x}")
    figure.update_traces(hovertemplate=f"{places}<br>%{{z:.3f}}<extra></extra>")
    if measure == "distance":
        figure.update_traces(zmin=0, colorscale=theme.plotly_scale())
    return with_layout(figure, xaxis_title_text=tr("position"), yaxis_title_text=tr("position"))


def rotation_circles(pairs: Sequence[int], position: int, offset: int, d_model: int, theme: Theme) -> go.Figure:
    """Draw pairs of dimensions as clock hands at two positions.

    A pair's sine is to the right and its cosine upwards, so hands turn clockwise, from the top at position 0. The arc
    grows outwards from turn to turn.

    Args:
        pairs: Counted from 0: pair i is dimensions 2i and 2i + 1.
    """
    encoding = sinusoidal_encoding(position + offset + 1, d_model)
    frequencies = 2 * math.pi / positions.wavelengths(d_model)
    figure = empty_figure(theme, 300, margin=(8, 8, 8, 56))
    for place, pair in enumerate(pairs):
        center, frequency = CLOCK_PITCH * place, float(frequencies[pair])
        _dial(figure, center, position * frequency, offset * frequency, theme)
        hands = (
            (position, theme.head_colors[1], 1.5, "circle-open"),
            (position + offset, theme.head_colors[0], 3, "circle"),
        )
        for at, color, line_width, symbol in hands:
            sine, cosine = encoding[at, 2 * pair].item(), encoding[at, 2 * pair + 1].item()
            name, values = tr("position {number}", number=at), f"{localized(sine, '.3f')}; {localized(cosine, '.3f')}"
            figure.add_scatter(
                x=[center, center + sine],
                y=[0, cosine],
                mode="lines+markers",
                line={"color": color, "width": line_width},
                marker={"color": color, "size": [0, 9], "symbol": symbol},
                hovertemplate=f"{name}<br>{_pair_name(pair)}<br>{values}<extra></extra>",
                name=name,
                showlegend=place == 0,
            )
    labels = [f"{_pair_name(pair)}<br>{_turns(offset * float(frequencies[pair]))}" for pair in pairs]
    font = {"size": SMALL, "color": theme.text}
    half = CLOCK_PITCH / 2
    return with_layout(
        figure,
        xaxis=bare_axis(
            range=[-half, CLOCK_PITCH * len(pairs) - half],
            tickvals=[CLOCK_PITCH * place for place in range(len(pairs))],
            ticktext=labels,
            tickfont=font,
        ),
        yaxis=bare_axis(range=[-1.12, 1.12], scaleanchor="x", showticklabels=False),
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": SMALL}},
        margin_t=34,
        hovermode="closest",
    )


def _dial(figure: go.Figure, center: float, start: float, turn: float, theme: Theme) -> None:
    """Draw the circle of a clock, and the arc of a turn (radians) from an angle on."""
    quiet: dict[str, object] = {"hoverinfo": "skip", "showlegend": False, "mode": "lines"}
    around = np.linspace(0, 2 * math.pi, 73)
    circle = {"color": theme.hairline, "width": 1}
    figure.add_scatter(x=center + np.sin(around), y=np.cos(around), line=circle, **quiet)
    arc = np.linspace(0, turn, 2 + min(400, math.ceil(12 * turn)))
    radius = 0.4 + 0.25 * np.linspace(0, 1, len(arc)) * min(1, turn / (2 * math.pi))
    angle, line = arc + start, {"color": theme.faint, "width": 1.5, "dash": "dot"}
    figure.add_scatter(x=center + radius * np.sin(angle), y=radius * np.cos(angle), line=line, **quiet)


def by_distance(learned: Tensor, theme: Theme) -> go.Figure:
    """Plot the mean cosine of two positions over their distance, and dotted the range of the learned ones."""
    least, mean, most = (values.numpy() for values in positions.similarity_by_distance(learned))
    paper = positions.similarity_by_distance(sinusoidal_encoding(*learned.shape))[1].numpy()
    distance = np.arange(len(learned), dtype=np.int16)
    first, second = theme.head_mark(0), theme.head_mark(1)
    figure = empty_figure(theme, 360, margin=(44, 44, 8, 40))
    for values in (most, least):
        line = {"color": first.color, "width": 0.75, "dash": "dot"}
        figure.add_scatter(x=distance, y=values, mode="lines", line=line, showlegend=False, hoverinfo="skip")
    for name, values, color, dash in (
        (tr("learned, mean"), mean, first.color, "solid"),
        (tr("sinusoidal"), paper, second.color, "dash"),
    ):
        hover = f"{name}<br>{tr('{distance} apart', distance='%{x}')}<br>%{{y:.3f}}<extra></extra>"
        figure.add_scatter(
            x=distance,
            y=values,
            mode="lines",
            line={"color": color, "width": 2, "dash": dash},
            name=name,
            hovertemplate=hover,
        )
    return with_layout(
        figure,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": SMALL}},
        xaxis=_number_axis(theme, tr("positions apart"), range=[-0.5, len(learned) - 0.5]),
        yaxis=_number_axis(theme, tr("cosine"), range=[-1.05, 1.05], showgrid=True, gridcolor=theme.hairline),
    )


def extrapolation(table: pd.DataFrame, theme: Theme) -> go.Figure:
    """Plot the share of exact answers over the length of a text: the mean of each kind, and a dot for each seed.

    Args:
        table: of `extrapolation_table`.
    """
    figure = empty_figure(theme, 360, margin=(44, 44, 8, 40))
    for index, (preset, name) in enumerate(KINDS.items()):
        runs, mark = table.query(f"preset == '{preset}'"), theme.head_mark(index)
        mean = runs.pivot_table("exact", "letters")
        hover = f"{tr(name)}<br>{tr('{count} letters', count='%{x}')}<br>%{{y:.1%}}<extra></extra>"
        style: dict[str, object] = {"hovertemplate": hover, "name": tr(name)}
        line = {"color": mark.color, "width": 2, "dash": ("solid", "dash")[index]}
        figure.add_scatter(x=mean.index.to_numpy(), y=mean["exact"].to_numpy(), mode="lines", line=line, **style)
        dots = {"color": mark.color, "size": 5}
        x, y = runs["letters"].to_numpy(), runs["exact"].to_numpy()
        figure.add_scatter(x=x, y=y, mode="markers", marker=dots, showlegend=False, **style)
    line = {"color": theme.faint, "width": 1, "dash": "dot"}
    figure.add_scatter(
        x=[table.loc[table["in_training"], "letters"].max() + 0.5] * 2,
        y=[0, 1],
        mode="lines",
        line=line,
        name=tr("longest in training"),
        hoverinfo="skip",
    )
    return with_layout(
        figure,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": SMALL}},
        hovermode="closest",
        xaxis=_number_axis(theme, tr("letters"), range=[0.5, table["letters"].max() + 0.5]),
        yaxis=_number_axis(
            theme,
            tr("exact answers"),
            range=[-0.03, 1.03],
            tickformat=".0%",
            showgrid=True,
            gridcolor=theme.hairline,
        ),
    )


def _turns(angle: float) -> str:
    """Describe an angle in radians."""
    degrees = math.degrees(angle)
    if degrees < 360:
        return tr("turned by {degrees}\u00b0", degrees=localized(degrees, ".3g"))
    return tr("turned {count} times", count=localized(degrees / 360, ".2f"))


def _numbered(position: str, dimension: object) -> str:
    position_name = tr("position {number}", number=position)
    return f"{position_name}<br>{tr('dimension {number}', number=dimension)}"


def _pair_name(pair: int) -> str:
    return tr("dimensions {first}, {second}", first=2 * pair, second=2 * pair + 1)


def _heatmap(values: np.ndarray, most: float, theme: Theme, name: str, height: int) -> go.Figure:
    """Draw signed values from -most to most, the first axis downwards."""
    rows, columns = values.shape
    figure = empty_figure(theme, height, margin=(52, 44, 8, 48))
    figure.add_heatmap(
        z=values.astype(np.float32),
        zmin=-most,
        zmax=most,
        colorscale=theme.plotly_scale(diverging=True),
        colorbar=color_bar(theme, name),
    )
    return with_layout(
        figure,
        xaxis=_number_axis(theme, "", range=[-0.5, columns - 0.5], side="top"),
        yaxis=_number_axis(theme, "", range=[rows - 0.5, -0.5]),
    )


def _number_axis(theme: Theme, title: str, **settings: object) -> dict[str, object]:
    faint = {"size": SMALL, "color": theme.faint}
    return bare_axis(
        title={"text": title, "font": faint, "standoff": 6},
        tickfont={**faint, "family": theme.monospace_font},
        ticklabelstandoff=3,
        **settings,
    )
