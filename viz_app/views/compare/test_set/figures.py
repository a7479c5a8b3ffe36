"""Two models over a test set: sentences as points."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from core.analysis.two_models.translated_lines import TranslatedPair
from viz_app.drawing.display_text import decimal, shortened
from viz_app.drawing.plotly_chart import empty_figure, escaped, number_axis, with_layout
from viz_app.drawing.theme import Theme
from viz_app.language import tr


def sentences_figure(lines: Sequence[TranslatedPair], names: tuple[str, str], theme: Theme) -> go.Figure:
    """Plot each sentence: chrF of the first model to the right, of the second upwards; a dotted line where equal."""
    figure = empty_figure(theme, 420, (52, 28, 12, 44))
    figure.add_scatter(
        x=[0, 100],
        y=[0, 100],
        mode="lines",
        name=tr("equal"),
        line={"color": theme.faint, "width": 1, "dash": "dot"},
        hoverinfo="skip",
    )
    texts = [
        "<br>".join(
            escaped(shortened(text, 90))
            for text in (
                tr("Line {number}: {source}", number=line.pair.number, source=line.pair.source),
                f"{decimal(line.chrf[0], 1)}  {line.texts[0]}",
                f"{decimal(line.chrf[1], 1)}  {line.texts[1]}",
            )
        )
        for line in lines
    ]
    figure.add_scatter(
        x=[line.chrf[0] for line in lines],
        y=[line.chrf[1] for line in lines],
        mode="markers",
        name=tr("sentences"),
        marker={"color": [_color(line.difference, theme) for line in lines], "size": 7, "opacity": 0.7},
        text=texts,
        hovertemplate="%{text}<extra></extra>",
        unselected={"marker": {"opacity": 0.7}},
    )
    first, second = (number_axis(theme, tr("chrF of {model}", model=escaped(name)), range=[-3, 103]) for name in names)
    return with_layout(figure, xaxis=first, yaxis=second)


def marker_line(lines: Sequence[TranslatedPair], point: Mapping[str, Any]) -> TranslatedPair | None:
    """Return the sentence of a marker of `sentences_figure`, as Plotly names it; None for anything else."""
    match point:
        case {"curve_number": 1, "point_index": int(number)} if 0 <= number < len(lines):
            return lines[number]
        case _:
            return None


def _color(difference: float, theme: Theme) -> str:
    """Return the colour of a difference in favour of one of the models."""
    return theme.faint if difference == 0 else theme.diverging[-1 if difference > 0 else 0]
