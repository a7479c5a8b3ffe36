"""How probable each token of a translation was, and what else it might have been."""

import math

import plotly.graph_objects as go

from core.analysis.words import readable
from core.translator import Explanation
from viz_app.figures.base import bare_axis, empty_figure, escaped
from viz_app.figures.theme import Theme

ALTERNATIVES = 3


def token_probabilities(explanation: Explanation, theme: Theme) -> go.Figure:
    """A bar for each token put out, from 0 to 1; the hover tells its log-probability and the most probable alternatives."""
    labels = [escaped(readable(token)) for token in explanation.predicted_tokens]
    figure = empty_figure(theme, 190, margin=(40, 8, 8, 70))
    figure.add_bar(
        x=list(range(len(labels))),
        y=[math.exp(log_prob) for log_prob in explanation.log_probs],
        customdata=[_alternatives(explanation, position) for position in range(len(labels))],
        marker={"color": theme.head_colors[0]},
        hovertemplate="<b>%{x}</b>  %{y:.3f}<br>%{customdata}<extra></extra>",
    )
    font = {"family": theme.monospace_font, "size": 12, "color": theme.text}
    faint = {**font, "color": theme.faint}
    places, angle = list(range(len(labels))), -90 if len(labels) > 12 else 0
    return figure.update_layout(
        bargap=0.25,
        xaxis=bare_axis(tickmode="array", tickvals=places, ticktext=labels, tickangle=angle, tickfont=font),
        yaxis={**bare_axis(range=[0, 1], tickvals=[0, 0.5, 1], tickfont=faint), "showgrid": True, "gridcolor": theme.hairline},
    )


def _alternatives(explanation: Explanation, position: int) -> str:
    found = ", ".join(f"{escaped(readable(token))} {math.exp(log_prob):.3f}" for token, log_prob in explanation.alternatives[position][:ALTERNATIVES])
    return f"log-probability {explanation.log_probs[position]:.3f}<br>most probable: {found}"
