"""Why A rather than B: scores as bars, rank correlations, and deletion curves."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import plotly.graph_objects as go

from core.analysis.attribution.contrast_methods import SIGNED, ContrastAttribution, ContrastMethod
from core.analysis.attribution.faithfulness import RANDOM, SHARES, Curves, Ranking, area_over_curve
from core.analysis.pictures import Cell, Grid
from core.analysis.tokens.words import axis_groups, readable, word
from viz_app.drawing.display_text import decimal
from viz_app.drawing.plotly_chart import bare_axis, empty_figure, with_layout
from viz_app.drawing.theme import SMALL, Theme
from viz_app.language import joined, marked, tr

if TYPE_CHECKING:
    import pandas as pd

METHOD_NAMES: dict[ContrastMethod, str] = {
    "integrated_gradients": marked("Integrated gradients"),
    "occlusion": marked("Occlusion"),
    "value_zeroing": marked("Value zeroing"),
    "gradient_x_input": marked("Gradient \u00d7 input"),
    "attention": marked("Attention"),
    "norms": marked("Norm-weighted"),
    "rollout": marked("Rollout"),
    "alti": marked("ALTI"),
}
NAMES: Mapping[str, str] = {**METHOD_NAMES, RANDOM: marked("Random order")}
SHORT_NAMES: dict[ContrastMethod, str] = {
    **METHOD_NAMES,
    "integrated_gradients": marked("Integrated"),
    "value_zeroing": marked("Zeroing"),
    "gradient_x_input": marked("Grad\u00d7input"),
    "norms": marked("Norm"),
}
CODES: dict[ContrastMethod, str] = {
    "integrated_gradients": "IG",
    "occlusion": "Occ",
    "value_zeroing": "VZ",
    "gradient_x_input": "G\u00d7I",
    "attention": "Att",
    "norms": "Norm",
    "rollout": "Roll",
    "alti": "ALTI",
}
BARS = marked("against A, for A; the longest bar of a method fills its column")
SHADE = 0.7  # place of the colours of bars on their scales


class BarRow(NamedTuple):
    """A row of the bars: a word or a token, with its indices among all tokens."""

    side: str
    name: str
    indices: range


def token_rows(result: ContrastAttribution, words: bool, hide_special: bool) -> list[BarRow]:
    """Return the rows of source and prefix.

    Args:
        words: Whether the tokens of a word are one row.
        hide_special: Whether `<s>` and `</s>` are left out.
    """
    contrast, rows, first = result.contrast, list[BarRow](), 0
    for side, tokens in (("source", contrast.source_tokens), ("prefix", contrast.prefix_tokens)):
        for group in axis_groups(tokens, words, hide_special):
            of_group = tokens[group.start : group.stop]
            name = word(of_group) if words else readable(of_group[0])
            rows.append(BarRow(side, name, range(first + group.start, first + group.stop)))
        first += len(tokens)
    return rows


def row_scores(result: ContrastAttribution, method: ContrastMethod, rows: Sequence[BarRow]) -> list[float]:
    """Return the score of each row, the sum over its tokens."""
    scores = result.scores[method]
    return [float(scores[row.indices.start : row.indices.stop].sum()) for row in rows]


def bars_grid(result: ContrastAttribution, methods: Sequence[ContrastMethod], rows: Sequence[BarRow]) -> Grid:
    """Return a grid with a row for each word, below the name of its side, and a column of bars for each method."""
    columns: list[list[Cell]] = []
    for method in methods:
        values = row_scores(result, method, rows)
        longest, signed = max(map(abs, values), default=0.0) or 1.0, method in SIGNED
        columns.append([_bar(value, value / longest, signed) for value in values])
    lines: list[tuple[str, list[Cell]]] = []
    for index, row in enumerate(rows):
        if is_first(rows, index):
            lines.append((tr("SOURCE") if row.side == "source" else tr("PREFIX"), []))
        lines.append((row.name, [column[index] for column in columns]))
    num_signed = sum(method in SIGNED for method in methods)
    groups = ((tr("A rather than B, in nats"), num_signed), (tr("Shares of the row"), len(methods) - num_signed))
    return Grid(
        title=tr("Scores of source and prefix by method"),
        legend=tr(BARS),
        ends=("\u2212", "+"),
        scale="diverging",
        columns=[tr(SHORT_NAMES[method]) for method in methods],
        rows=lines,
        width=8,
        groups=[group for group in groups if group[1]],
    )


def _bar(value: float, length: float, signed: bool) -> Cell:
    ends = (min(0.5, 0.5 + length / 2), max(0.5, 0.5 + length / 2)) if signed else (0.0, length)
    return Cell(
        text=decimal(value, 2, sign=signed),
        says=decimal(value, 3, sign=signed),
        shade=math.copysign(SHADE, value) if signed else 0.6 * SHADE,
        scale="diverging" if signed else "sequential",
        bar=ends,
    )


def is_first(rows: Sequence[BarRow], index: int) -> bool:
    """Return whether a row is the first of its side, above which a line has the name of the side."""
    return index == 0 or rows[index].side != rows[index - 1].side


def correlation_grid(result: ContrastAttribution, methods: Sequence[ContrastMethod]) -> Grid:
    """Return a grid of the rank correlations between methods."""

    def cell(first: ContrastMethod, second: ContrastMethod) -> Cell | None:
        if first == second:
            return None
        value = result.correlation(first, second)
        text = "\u2013" if math.isnan(value) else decimal(value, 2)
        return Cell(text=text, says=text, shade=0.0 if math.isnan(value) else value)

    return Grid(
        title=tr("Rank correlations between methods"),
        legend=tr("Spearman's rank correlation"),
        ends=("\u22121", "+1"),
        scale="diverging",
        columns=[CODES[method] for method in methods],
        rows=[(tr(SHORT_NAMES[first]), [cell(first, second) for second in methods]) for first in methods],
        width=5,
    )


def curves_figure(curves: Curves, methods: Sequence[str], title: str, theme: Theme, height: int = 360) -> go.Figure:
    """Plot the probability over the share of deleted tokens: a line for each method, and one for random orders."""
    figure = empty_figure(theme, height, (52, 12, 12, 44))
    with_layout(
        figure,
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": SMALL}},
    )
    places = [0.0, *(100 * share for share in SHARES)]
    short_names = {**NAMES, **SHORT_NAMES}  # of which two fit beside each other
    for method in [*methods, RANDOM]:
        number = list(NAMES).index(method)
        is_random = method == RANDOM
        figure.add_scatter(
            x=places,
            y=curves[method],
            mode="lines",
            name=tr(short_names[method]),
            line={
                "color": theme.faint if is_random else theme.head_colors[number],
                "width": 2,
                "dash": "dash" if is_random else "solid" if method in SIGNED else "dot",
            },
            hovertemplate=f"{tr(NAMES[method])}, %{{x:.0f}} %: %{{y:.3f}}<extra></extra>",
        )
    ticks = {"showticklabels": True, "tickfont": {"size": SMALL, "color": theme.faint, "family": theme.monospace_font}}
    font = {"size": SMALL, "color": theme.faint}
    return with_layout(
        figure,
        xaxis=bare_axis(**ticks, tickvals=places, title={"text": tr("% of the tokens deleted"), "font": font}),
        yaxis=bare_axis(**ticks, range=[-0.02, 1.02], title={"text": title, "font": font}),
    )


def scores_table(result: ContrastAttribution, rows: Sequence[BarRow]) -> "pd.DataFrame":
    """Return a row for each word or token: side, first position (from 0), and a score for each method."""
    import pandas as pd

    num_source = len(result.contrast.source_tokens)
    return pd.DataFrame(
        {
            "side": [row.side for row in rows],
            "position": [row.indices.start - num_source * (row.side == "prefix") for row in rows],
            "token": [row.name for row in rows],
            **{method: row_scores(result, method, rows) for method in result.scores},
        }
    )


def methods_table(result: ContrastAttribution, curves: Curves) -> "pd.DataFrame":
    """Return a row for each method: AOPC on this sentence, and sum and completeness gap of scores in nats."""
    import pandas as pd

    return pd.DataFrame(
        {
            "method": [tr(NAMES[method]) for method in curves],
            "aopc": [area_over_curve(curve) for curve in curves.values()],
            "sum": [float(result.scores[method].sum()) if method in SIGNED else None for method in curves],
            "gap": [result.gap(method) if method in SIGNED else None for method in curves],
        }
    )


def correlations_table(result: ContrastAttribution) -> "pd.DataFrame":
    """Return the rank correlation of each method with every other."""
    import pandas as pd

    return pd.DataFrame(
        {
            "method": list(result.scores),
            **{method: [result.correlation(other, method) for other in result.scores] for method in result.scores},
        }
    )


def curves_table(curves: Curves) -> "pd.DataFrame":
    """Return a row for each share of deleted tokens, and a column for each method."""
    import pandas as pd

    return pd.DataFrame({"deleted": [0.0, *SHARES], **{method: list(values) for method, values in curves.items()}})


def ranking_table(ranking: Ranking) -> "pd.DataFrame":
    """Return a row for each method, the one with the largest mean first.

    The difference from the control has its 95 % interval, and a p-value corrected for the number of methods.
    """
    import pandas as pd

    tested = [None if each.method == RANDOM else each.above_random for each in ranking.methods]
    return pd.DataFrame(
        {
            "method": [tr(NAMES[each.method]) for each in ranking.methods],
            "aopc": [each.aopc for each in ranking.methods],
            "error": [each.error for each in ranking.methods],
            "above_random": [each and each.mean for each in tested],
            "low": [each and each.low for each in tested],
            "high": [each and each.high for each in tested],
            "p_value": [each and each.p_value for each in tested],
            "beats_random": [each.beats_random for each in ranking.methods],
            "is_best": [each.is_best for each in ranking.methods],
        }
    )


def verdict(ranking: Ranking, num_examples: int) -> str:
    """Say which methods to trust, as Markdown."""
    best = [tr(NAMES[each.method]) for each in ranking.methods if each.is_best and each.beats_random]
    no_better = [tr(NAMES[each.method]) for each in ranking.methods if not each.beats_random and each.method != RANDOM]
    if not best:
        return tr("Over {count} predictions, no method can be told apart from a random order.", count=num_examples)
    if len(best) == 1:
        trust = tr(
            "**Trust {method}**: over {count} predictions, the probability falls most without the tokens that rank "
            "highest there.",
            method=best[0],
            count=num_examples,
        )
    else:
        trust = tr(
            "**Trust {methods}**, which these sentences cannot tell apart: over {count} predictions, the probability "
            "falls most without the tokens that rank highest there.",
            methods=_listed(best),
            count=num_examples,
        )
    chosen = tr(
        "The best on one half of the predictions ({methods}) has an AOPC of {aopc} on the other half.",
        methods=_listed([tr(NAMES[method]) for method in ranking.best]),
        aopc=decimal(ranking.best_aopc, 3),
    )
    if not no_better:
        return f"{trust} {chosen}"
    others = tr("Not shown to be better than a random order: {methods}.", methods=_listed(no_better))
    return f"{trust} {chosen} {others}"


def _listed(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return tr("{names} and {last}", names=joined(names[:-1]), last=names[-1])
