"""Attention of every head while one symbol of a tree was written."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.analysis.heads.bracket_attention import SymbolAttention
from viz_app.figures.plotly_chart import bare_axis, color_bar, empty_figure, escaped
from viz_app.figures.theme import Theme, head_name


def bracket_map(attention: SymbolAttention, theme: Theme) -> go.Figure:
    """Draw a row for each head and a column for each key, colours fixed from 0 to 1."""
    layers, heads, keys = attention.weights.shape
    names = [head_name(layer, head) for layer in range(layers) for head in range(heads)]
    labels = [escaped(key) for key in attention.keys]
    top = 16 + 8 * min(16, max(map(len, attention.keys)))
    figure = empty_figure(theme, 20 * len(names) + top + 44, margin=(56, top, 4, 44))
    figure.add_heatmap(
        z=attention.weights.reshape(-1, keys).float().numpy(),
        zmin=0,
        zmax=1,
        colorscale=theme.plotly_scale(),
        colorbar=color_bar(theme, "weight"),
        xgap=1,
        ygap=1,
        customdata=[labels] * len(names),
        hovertemplate="%{y} attends to <b>%{customdata}</b><br>%{z:.3f}<extra></extra>",
    )
    places, rows = list(range(keys)), list(range(len(names)))
    small = {"size": 12, "family": theme.monospace_font}
    # names, from the map
    apart: dict[str, Any] = {"tickfont": small, "ticks": "outside", "ticklen": 5, "tickcolor": "rgba(0,0,0,0)"}
    figure.update_layout(
        xaxis=bare_axis(**apart, tickvals=places, ticktext=labels, side="top", tickangle=-90, range=[-0.5, keys - 0.5]),
        yaxis=bare_axis(**apart, tickvals=rows, ticktext=names, range=[len(names) - 0.5, -0.5]),
    )
    return figure


def bracket_table(attention: SymbolAttention) -> pd.DataFrame:
    """Return a row for each head and key; layers, heads and keys are counted from 0."""
    layers, heads, keys = attention.weights.shape
    rows = [
        (attention.symbol, layer, head, key, attention.keys[key], attention.weights[layer, head, key].item())
        for layer in range(layers)
        for head in range(heads)
        for key in range(keys)
    ]
    return pd.DataFrame(rows, columns=["symbol", "layer", "head", "key", "attends_to", "weight"])
