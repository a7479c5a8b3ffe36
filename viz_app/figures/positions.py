"""The encoding of positions (3.5): all of it, single sinusoids, and how alike positions are."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from core.analysis import positions
from core.analysis.positions import Measure
from core.model import sinusoidal_encoding
from viz_app.figures.base import bare_axis, color_bar, empty_figure
from viz_app.figures.theme import Theme

STEPS = 8  # points of a drawn curve between two positions, so that the fastest wave is round


def encoding_heatmap(num_positions: int, d_model: int, theme: Theme, *, sines_first: bool = False) -> go.Figure:
    """A row a position, a column a dimension, values from -1 to 1.

    In the paper sine and cosine of one frequency are neighbours, which the eye sees as stripes; with `sines_first` all
    sines stand on the left and all cosines on the right, and the waves show.
    """
    dimensions = list(range(d_model))
    if sines_first:
        dimensions = dimensions[::2] + dimensions[1::2]
    figure = _heatmap(sinusoidal_encoding(num_positions, d_model)[:, dimensions].numpy(), 1, theme, "value", 420)
    figure.update_traces(hovertemplate="position %{y}<br>dimension %{x}<br>%{z:.3f}<extra></extra>")
    if sines_first:
        ticks = [*range(0, d_model, max(1, d_model // 8))]
        figure.update_xaxes(tickmode="array", tickvals=ticks, ticktext=[str(dimensions[tick]) for tick in ticks])
        figure.update_traces(
            customdata=np.tile(np.array(dimensions, dtype=np.int16), (num_positions, 1)),
            hovertemplate="position %{y}<br>dimension %{customdata}<br>%{z:.3f}<extra></extra>",
        )
    return figure.update_layout(xaxis_title_text="dimension", yaxis_title_text="position")


def sinusoids(dimensions: Sequence[int], num_positions: int, d_model: int, theme: Theme) -> go.Figure:
    """Some dimensions over the positions. A position takes the values at the dots; the curve between them is no position's.

    Raises:
        ValueError: there is no such dimension.
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
        name = f"{dimension} ({'cosine' if dimension % 2 else 'sine'}, period {period:,.1f})"
        line = {"color": mark.color, "width": 1.5, "dash": mark.dash}
        figure.add_scatter(x=places.astype(np.float32), y=curve.astype(np.float32), mode="lines", line=line, name=name, hoverinfo="skip")
        figure.add_scatter(
            x=np.arange(num_positions, dtype=np.int16),
            y=encoding[:, dimension].numpy(),
            mode="markers",
            marker={"color": mark.color, "size": 4},
            showlegend=False,
            hovertemplate=f"position %{{x}}<br>dimension {dimension}<br>%{{y:.3f}}<extra></extra>",
        )
    legend = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "title": {"text": "dimension ", "font": {"size": 12}}, "font": {"size": 12}}
    grid = {"showgrid": True, "gridcolor": theme.hairline}
    return figure.update_layout(
        showlegend=True,
        legend=legend,
        hovermode="closest",
        xaxis=_number_axis(theme, "position", range=[-0.5, num_positions - 0.5]),
        yaxis=_number_axis(theme, "value", range=[-1.1, 1.1], **grid),
    )


def position_similarity(num_positions: int, d_model: int, theme: Theme, measure: Measure = "dot") -> go.Figure:
    """How alike two positions are, by dot product (at most d_model / 2) or cosine (at most 1)."""
    similarity = positions.position_similarity(sinusoidal_encoding(num_positions, d_model), measure)
    figure = _heatmap(similarity.numpy(), d_model / 2 if measure == "dot" else 1, theme, "dot product" if measure == "dot" else "cosine", 460)
    figure.update_traces(hovertemplate="positions %{y} and %{x}<br>%{z:.3f}<extra></extra>")
    return figure.update_layout(xaxis_title_text="position", yaxis_title_text="position")


def _heatmap(values: np.ndarray, most: float, theme: Theme, name: str, height: int) -> go.Figure:
    """Signed values from -most to most: a row downwards for the first axis."""
    rows, columns = values.shape
    figure = empty_figure(theme, height, margin=(52, 44, 8, 48))
    figure.add_heatmap(
        z=values.astype(np.float32), zmin=-most, zmax=most, colorscale=theme.plotly_scale(diverging=True), colorbar=color_bar(theme, name)
    )
    return figure.update_layout(
        xaxis=_number_axis(theme, "", range=[-0.5, columns - 0.5], side="top"), yaxis=_number_axis(theme, "", range=[rows - 0.5, -0.5])
    )


def _number_axis(theme: Theme, title: str, **settings: object) -> dict[str, object]:
    faint = {"size": 12, "color": theme.faint}
    return bare_axis(
        title={"text": title, "font": faint, "standoff": 6}, tickfont={**faint, "family": theme.monospace_font}, ticklabelstandoff=3, **settings
    )
