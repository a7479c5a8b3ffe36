"""Heads and neurons of a corpus index as tables, and heads as parallel coordinates or by any two measures."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from core.analysis.corpus.behaviours import BEHAVIOURS
from core.analysis.corpus.head_description import LABELS
from core.analysis.corpus.head_scores import DISTANCE, PAIR, STRENGTH, Point, Ranges, head_scores, within
from core.analysis.corpus.index import CorpusIndex
from core.analysis.corpus.shown_examples import NeuronSort
from core.analysis.heads.head import Head
from core.analysis.heads.scorecards import ScoreCard
from core.capture import KINDS, Kind
from viz_app.drawing.display_text import decimal
from viz_app.drawing.head_names import KIND_NAMES
from viz_app.drawing.head_names import head_title as head_name
from viz_app.drawing.plotly_chart import empty_figure, legend_above, number_axis, with_layout
from viz_app.drawing.theme import Theme
from viz_app.language import localized, marked, tr

AXIS_NAMES = {
    **LABELS,
    "itself": marked("same position"),  # in cross-attention too
    "rare": marked("rarest token"),
    "copies": marked("copies"),
    "translates": marked("writes translation"),
    "gold": marked("gold links"),
    "one": marked("one token at a time"),
    "spread": marked("spread out"),
    STRENGTH: marked("median strength"),
}
MEASURE_NAMES = {**AXIS_NAMES, DISTANCE: marked("mean distance"), PAIR: marked("weight between the selected words")}
SYMBOLS: dict[Kind, str] = {"encoder_self": "circle", "decoder_self": "diamond", "cross": "square"}
HEIGHT = 460
PLACE_NAMES = {
    "any": marked("anywhere"),
    "elsewhere": marked("off the usual places"),
    "previous": marked("the previous token"),
    "same_position": marked("the same position"),
    "following": marked("the next token"),
    "same_token": marked("the same word"),
    "sink_start": marked("the first token"),
    "sink_end": marked("the end mark"),
    "sink_punctuation": marked("punctuation"),
    "copies": marked("a token it copies"),
    "translates": marked("a token it translates"),
}
NEURON_SORTS: dict[NeuronSort, str] = {
    "tokens": marked("Same word in most examples"),
    "highest": marked("Highest activation"),
    "rare": marked("Active for the fewest tokens"),
}


def head_coordinates(
    index: CorpusIndex, cards: Sequence[ScoreCard], ranges: Ranges, head: Head | None, theme: Theme
) -> dict[str, Any]:
    """Return heads, faint beyond a range, as lines over the scores that all have: `Data` in parallel_coordinates.js."""
    scores = [head_scores(index, card) for card in cards]
    keys = [key for key in AXIS_NAMES if scores and all(each[key] is not None for each in scores)]
    return {
        "axes": [
            {**_axis(key, [value for each in scores if (value := each[key]) is not None]), "range": ranges.get(key)}
            for key in keys
        ],
        "lines": [
            {
                "name": head_name(card.head),
                "values": [each[key] for key in keys],
                "group": KINDS.index(card.head.kind),
                "faint": not within({key: each[key] for key in keys}, ranges),
            }
            for card, each in zip(cards, scores, strict=True)
        ],
        "groups": [
            {"name": tr(KIND_NAMES[kind]), "color": theme.head_colors[number], "dash": dash}
            for number, (kind, dash) in enumerate(zip(KINDS, ("solid", "dash", "dot"), strict=True))
        ],
        "marked": next((number for number, card in enumerate(cards) if card.head == head), None),
        "name": tr("Heads by their scores"),
    }


def _axis(key: str, values: Sequence[float]) -> dict[str, Any]:
    """Return the axis of a score: from 0 to 1 or, of the strength, to the largest."""
    axis = {"key": key, "name": tr(AXIS_NAMES[key])}
    if key == STRENGTH:
        text = tr("median over rows of the norm of what the head writes for its strongest key (Kobayashi et al. 2020)")
        return {**axis, "text": text, "low": 0.0, "high": max(values, default=1.0) or 1.0}
    low = min(0.0, *values)  # 1 minus an error rate may be below 0
    return {**axis, "text": tr(BEHAVIOURS[key].text), "low": low, "high": max(1.0, *values)}


def quantile_text(quantiles: Sequence[float], unit: str) -> str:
    """Describe the usual values, the median and the strongest percent, of a unit such as rows."""
    median, _, percent, _ = quantiles
    if not median:
        return tr("99 % of the {unit} are below {high}", unit=tr(unit), high=localized(percent, ".2f"))
    return tr(
        "99 % of the {unit} are below {high}, half below {median}",
        unit=tr(unit),
        high=localized(percent, ".2f"),
        median=localized(median, ".2f"),
    )


def scatter_figure(points: Sequence[Point], x: str, y: str, theme: Theme, selected: Head | None = None) -> go.Figure:
    """Draw a marker for each head, of a colour and a shape for each kind of attention."""
    figure = empty_figure(theme, HEIGHT, (48, 34, 12, 44))
    for kind, of_kind in by_kind(points).items():
        texts = [
            tr(
                "{head}: {across} {x}, {up} {y}",
                head=head_name(head),
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
