"""Two models over a test set: sentences as points, buckets as pairs of points."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from core.analysis.two_models.buckets import Bucket
from core.analysis.two_models.translated_lines import TranslatedPair
from viz_app.drawing.display_text import decimal, shortened
from viz_app.drawing.plotly_chart import bare_axis, empty_figure, escaped, with_layout
from viz_app.drawing.theme import SMALL, Theme
from viz_app.language import tr

MARGIN = (52, 28, 12, 44)


def sentences_figure(
    lines: Sequence[TranslatedPair], names: tuple[str, str], theme: Theme, height: int = 420
) -> go.Figure:
    """Plot each sentence: chrF of the first model to the right, of the second upwards; a dotted line where equal.

    Args:
        names: of both models.
    """
    figure = empty_figure(theme, height, MARGIN)
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
    first, second = (tr("chrF of {model}", model=escaped(name)) for name in names)
    axis = {"showticklabels": True, "tickfont": _font(theme, numbers=True), "range": [-3, 103]}
    return with_layout(
        figure,
        xaxis=bare_axis(**axis, title={"text": first, "font": _font(theme)}),
        yaxis=bare_axis(**axis, title={"text": second, "font": _font(theme)}),
    )


def marker_line(lines: Sequence[TranslatedPair], point: Mapping[str, Any]) -> TranslatedPair | None:
    """Return the sentence of a marker of `sentences_figure`, as Plotly names it; None for anything else."""
    match point:
        case {"curve_number": 1, "point_index": int(number)} if 0 <= number < len(lines):
            return lines[number]
        case _:
            return None


def buckets_figure(
    buckets: Sequence[Bucket], names: tuple[str, str], axis: str, score: str, theme: Theme, height: int = 240
) -> go.Figure:
    """Plot both models in each bucket, one beside the other with a line between.

    Args:
        axis, score: what the buckets count and what is plotted, in the visitor's language.
    """
    figure = empty_figure(theme, height, MARGIN)
    for place, each in enumerate(buckets):
        figure.add_scatter(
            x=[place, place],
            y=[each.first, each.second],
            mode="lines",
            line={"color": theme.hairline, "width": 2},
            showlegend=False,
            hoverinfo="skip",
        )
    for side, name in enumerate(names):
        values = [each.second if side else each.first for each in buckets]
        figure.add_scatter(
            x=list(range(len(buckets))),
            y=values,
            mode="markers",
            name=escaped(name),
            marker={"color": side_color(side, theme), "size": 10, "symbol": ("circle", "diamond")[side]},
            text=[
                tr("{model}: {value}, of {count}", model=escaped(name), value=decimal(value, 1), count=each.count)
                for each, value in zip(buckets, values, strict=True)
            ],
            hovertemplate="%{text}<extra></extra>",
        )
    ticks = {"showticklabels": True, "tickfont": _font(theme, numbers=True)}
    return with_layout(
        figure,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": _font(theme)},
        xaxis=bare_axis(
            **ticks,
            tickvals=list(range(len(buckets))),
            ticktext=[bucket_name(each) for each in buckets],
            range=[-0.5, len(buckets) - 0.5],
            title={"text": axis, "font": _font(theme)},
        ),
        yaxis=bare_axis(**ticks, rangemode="tozero", title={"text": score, "font": _font(theme)}),
    )


def bucket_name(bucket: Bucket) -> str:
    """Name a bucket by its least and its most."""
    if bucket.most is None:
        return f"\u2265 {bucket.least}"
    return str(bucket.least) if bucket.least == bucket.most else f"{bucket.least}\u2013{bucket.most}"


def side_color(side: int, theme: Theme) -> str:
    """Return the colour of the first or of the second model, that of a difference in its favour."""
    return theme.diverging[0 if side else -1]


def _color(difference: float, theme: Theme) -> str:
    return theme.faint if difference == 0 else side_color(int(difference < 0), theme)


def _font(theme: Theme, numbers: bool = False) -> dict[str, Any]:
    font: dict[str, Any] = {"size": SMALL, "color": theme.faint}
    return font | {"family": theme.monospace_font} if numbers else font
