"""Position encodings (3.5) as heatmap, sinusoids, similarities and rotations."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from torch import Tensor

from core.analysis import positions
from core.analysis.pictures import Curve, Curves
from core.analysis.positions import Measure
from core.model import sinusoidal_encoding
from viz_app.drawing.plotly_chart import bare_axis, color_bar, empty_figure, legend_above, number_axis, with_layout
from viz_app.drawing.theme import SMALL, Theme
from viz_app.language import localized, marked, tr

CLOCK_PITCH = 2.6  # from one clock to the next, their radius being 1
KINDS = {"reverse-learned": marked("learned"), "reverse": marked("sinusoidal")}  # by preset
DASHES: tuple[Literal["solid", "dash", "dot"], ...] = ("solid", "dash", "dot")
STEPS = 8  # points of a drawn curve between two positions, so that the fastest wave is round


def encoding_heatmap(encoding: Tensor, theme: Theme, waves: Sequence[int] = ()) -> go.Figure:
    """Draw an encoding [positions, D], in colours up to its largest value (1 for sinusoids).

    Args:
        waves: dimensions to draw, see `changing_waves`, with a gap between sines and cosines; none: all.
    """
    half, values = len(waves) // 2, encoding.numpy()
    shown: list[int] = [*waves[:half], -1, *waves[half:]] if waves else list(range(encoding.size(1)))
    if waves:
        values = np.insert(values[:, waves], half, np.nan, axis=1)
    figure = _heatmap(values, float(encoding.abs().max()), theme, tr("encoding"), 420)
    hover = f"{_numbered('%{y}', '%{customdata}')}<br>%{{z:.3f}}<extra></extra>"
    figure.update_traces(customdata=np.tile(shown, (len(values), 1)), hovertemplate=hover, hoverongaps=False)
    title = tr("dimension: sines at the left, cosines at the right") if waves else tr("dimension")
    ticks = [place for place, dimension in enumerate(shown) if dimension >= 0 and dimension // 2 % 30 == 0]
    if waves:
        figure.update_xaxes(tickvals=ticks, ticktext=[str(shown[place]) for place in ticks])
    return with_layout(figure, xaxis_title_text=title, yaxis_title_text=tr("position"))


def sinusoids(dimensions: Sequence[int], num_positions: int, d_model: int) -> Curves:
    """Plot some dimensions over the positions, which take the values at the points only.

    Raises:
        ValueError: There is no such dimension.
    """
    for dimension in dimensions:
        if not 0 <= dimension < d_model:
            raise ValueError(f"dimension {dimension} is not among 0 to {d_model - 1}, those of d_model {d_model}")
    encoding, periods = sinusoidal_encoding(num_positions, d_model), positions.wavelengths(d_model)
    places = [step / STEPS for step in range((num_positions - 1) * STEPS + 1)]
    curves: list[Curve] = []
    for color, dimension in enumerate(dimensions):
        period, wave = periods[dimension // 2].item(), math.cos if dimension % 2 else math.sin
        values = {"dimension": dimension, "period": localized(period, ",.1f")}
        name = (
            tr("{dimension} (cosine, period {period})", **values)
            if dimension % 2
            else tr("{dimension} (sine, period {period})", **values)
        )
        line = [wave(place * 2 * math.pi / period) for place in places]
        dots, says = encoding[:, dimension].tolist(), f"{_numbered('{x}', dimension)}: {{y}}"
        curves += [
            Curve(name=name, places=places, values=line, color=color, dash=DASHES[color % len(DASHES)], width=1.5),
            Curve(name="", places=range(num_positions), values=dots, color=color, shape="points", says=says),
        ]
    return Curves(title=tr("encoding"), axis=tr("encoding"), below=tr("position"), curves=curves, limits=(-1, 1))


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
    grows outwards from turn to turn. Pair i, counted from 0, is dimensions 2i and 2i + 1.
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
        **legend_above(),
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


def by_distance(learned: Tensor) -> Curves:
    """Plot the mean cosine of two positions over their distance, and dotted the range of the learned ones."""
    least, mean, most = (values.tolist() for values in positions.similarity_by_distance(learned))
    paper = positions.similarity_by_distance(sinusoidal_encoding(*learned.shape))[1].tolist()
    places = range(len(learned))
    curves = [Curve(name="", places=places, values=each, color=0, dash="dot", width=0.75) for each in (most, least)]
    curves.append(Curve(name=tr("learned, mean"), places=places, values=mean, color=0))
    curves.append(Curve(name=tr("sinusoidal"), places=places, values=paper, color=1, dash="dash"))
    return Curves(title=tr("cosine"), axis=tr("cosine"), below=tr("positions apart"), curves=curves, limits=(-1, 1))


def extrapolation(table: pd.DataFrame) -> Curves:
    """Plot the shares of `extrapolation_table` over the length of a text: each kind's mean, and a point a seed."""
    curves: list[Curve] = []
    for color, (preset, name) in enumerate(KINDS.items()):
        runs, dash, says = table.query(f"preset == '{preset}'"), DASHES[color], f"{tr(name)}, {{x}}: {{y}}"
        mean = runs.pivot_table("exact", "letters")
        letters, means = (values.to_numpy().tolist() for values in (mean.index, mean["exact"]))
        each, exact = (runs[column].to_numpy().tolist() for column in ("letters", "exact"))
        curves += [
            Curve(name=tr(name), places=letters, values=means, color=color, dash=dash),
            Curve(name="", places=each, values=exact, color=color, shape="points", says=says),
        ]
    end = [table.loc[table["in_training"], "letters"].max() + 0.5] * 2
    curves.append(Curve(name=tr("longest in training"), places=end, values=[0, 1], color=None, dash="dot", width=1))
    return Curves(
        title=tr("exact answers"),
        axis=tr("exact answers"),
        below=tr("letters"),
        curves=curves,
        limits=(0, 1),
        scale="share",
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
        xaxis=number_axis(theme, "", ticklabelstandoff=3, range=[-0.5, columns - 0.5], side="top"),
        yaxis=number_axis(theme, "", ticklabelstandoff=3, range=[rows - 0.5, -0.5]),
    )
