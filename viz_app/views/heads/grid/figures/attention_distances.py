"""Mean attention distances of heads as a chart by layer."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import plotly.graph_objects as go

from core.analysis.heads.attention_distance import HeadDistance
from core.analysis.heads.head import Head
from viz_app.drawing.display_text import decimal
from viz_app.drawing.head_names import head_title
from viz_app.drawing.plotly_chart import bare_axis, empty_figure, with_layout
from viz_app.drawing.theme import SMALL, Theme
from viz_app.language import tr

WIDTH = 0.6  # of the heads of a layer, where the next layer is at 1


def known_distances(heads: Sequence[HeadDistance]) -> list[HeadDistance]:
    """Return the heads that have a distance, in the order of the markers of `distances_figure`."""
    return [each for each in heads if not math.isnan(each.distance)]


def distances_figure(
    heads: Sequence[HeadDistance], theme: Theme, selected: Sequence[Head] = (), height: int = 240
) -> go.Figure:
    """Plot the distance of each head over its layer, with the means of the layers as a line.

    Args:
        selected: Heads with a larger marker.
    """
    figure, known = empty_figure(theme, height, (48, 12, 12, 28)), known_distances(heads)
    layers = sorted({each.head.layer for each in heads})
    num_heads = 1 + max((each.head.head for each in heads), default=0)
    means = {
        layer: fmean(values)
        for layer in layers
        if (values := [each.distance for each in known if each.head.layer == layer])
    }
    figure.add_scatter(
        x=list(means),
        y=list(means.values()),
        mode="lines",
        name=tr("mean of the layer"),
        line={"color": theme.faint, "width": 1, "dash": "dot"},
        hoverinfo="skip",
    )
    names = [
        tr(
            "{head}: {distance} tokens, over {share} % of its weight",
            head=head_title(each.head),
            distance=decimal(each.distance, 2),
            share=decimal(100 * each.share, 0),
        )
        for each in known
    ]
    figure.add_scatter(
        x=[each.head.layer + WIDTH * ((each.head.head + 0.5) / num_heads - 0.5) for each in known],
        y=[each.distance for each in known],
        mode="markers",
        name=tr("heads"),
        marker={
            "color": [theme.head_mark(each.head.head).color for each in known],
            "size": [13 if each.head in selected else 8 for each in known],
        },
        text=names,
        hovertemplate="%{text}<extra></extra>",
        unselected={"marker": {"opacity": 1}},
    )
    ticks = {"showticklabels": True, "tickfont": {"size": SMALL, "color": theme.faint, "family": theme.monospace_font}}
    title = {"text": tr("mean distance in tokens"), "font": {"size": SMALL, "color": theme.faint}}
    names_of_layers = [f"L{layer + 1}" for layer in layers]
    return with_layout(
        figure,
        xaxis=bare_axis(**ticks, tickvals=layers, ticktext=names_of_layers, range=[-0.5, len(layers) - 0.5]),
        yaxis=bare_axis(**ticks, rangemode="tozero", title=title),
    )


def marker_head(heads: Sequence[HeadDistance], point: Mapping[str, Any]) -> Head | None:
    """Return the head of a marker of `distances_figure`, as Plotly names it; None for anything else."""
    match point:
        case {"curve_number": 1, "point_index": int(number)} if 0 <= number < len(known := known_distances(heads)):
            return known[number].head
        case _:
            return None
