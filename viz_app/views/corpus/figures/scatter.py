"""All heads of a corpus index by any two of their measures."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from core.analysis.corpus.head_scores import DISTANCE, PAIR, Point
from core.analysis.heads.head import Head
from core.capture import KINDS, Kind
from viz_app.drawing.display_text import decimal
from viz_app.drawing.head_names import KIND_NAMES, head_title
from viz_app.drawing.plotly_chart import empty_figure, legend_above, number_axis, with_layout
from viz_app.drawing.theme import Theme
from viz_app.language import marked, tr
from viz_app.views.corpus.figures.corpus import AXIS_NAMES

MEASURE_NAMES = {**AXIS_NAMES, DISTANCE: marked("mean distance"), PAIR: marked("weight between the selected words")}
SYMBOLS: dict[Kind, str] = {"encoder_self": "circle", "decoder_self": "diamond", "cross": "square"}
HEIGHT = 460


def scatter_figure(points: Sequence[Point], x: str, y: str, theme: Theme, selected: Head | None = None) -> go.Figure:
    """Draw a marker for each head, of a colour and a shape for each kind of attention."""
    figure = empty_figure(theme, HEIGHT, (48, 34, 12, 44))
    for kind, of_kind in by_kind(points).items():
        texts = [
            tr(
                "{head}: {across} {x}, {up} {y}",
                head=head_title(head),
                across=decimal(across, 2),
                x=tr(MEASURE_NAMES[x]),
                up=decimal(up, 2),
                y=tr(MEASURE_NAMES[y]),
            )
            for head, across, up in of_kind
        ]
        figure.add_scatter(
            x=[across for _, across, _ in of_kind],
            y=[up for _, _, up in of_kind],
            mode="markers",
            name=tr(KIND_NAMES[kind]),
            marker={
                "color": theme.head_colors[KINDS.index(kind)],
                "symbol": SYMBOLS[kind],
                "size": [15 if head == selected else 8 for head, _, _ in of_kind],
            },
            text=texts,
            hovertemplate="%{text}<extra></extra>",
            unselected={"marker": {"opacity": 1}},
        )
    grid = {"gridcolor": theme.hairline, "showgrid": True, "nticks": 6}
    across, up = (number_axis(theme, tr(MEASURE_NAMES[each]), **grid) for each in (x, y))
    return with_layout(figure, xaxis=across, yaxis=up, **legend_above())


def by_kind(points: Sequence[Point]) -> dict[Kind, list[Point]]:
    """Return the points of each kind of attention that has some: the traces of `scatter_figure`."""
    found: dict[Kind, list[Point]] = {kind: [each for each in points if each[0].kind == kind] for kind in KINDS}
    return {kind: of_kind for kind, of_kind in found.items() if of_kind}


def marker_head(points: Sequence[Point], point: Mapping[str, Any]) -> Head | None:
    """Return the head of a marker of `scatter_figure`, as Plotly names it; None for anything else."""
    traces = list(by_kind(points).values())
    match point:
        case {"curve_number": int(trace), "point_index": int(number)} if 0 <= trace < len(traces) and 0 <= number < len(
            traces[trace]
        ):
            return traces[trace][number][0]
        case _:
            return None
