"""Table 3 of the paper with what was trained here, as a table and as differences from base."""

import html
import itertools
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import plotly.graph_objects as go

from core.analysis.model_variations import BASE, TABLE_3, Line, paper_difference
from viz_app.drawing.plotly_chart import empty_figure, escaped, legend_above, number_axis, with_layout
from viz_app.drawing.theme import Theme
from viz_app.language import localized, marked, tr

STEPS = marked("steps")
SYMBOLS = {  # of the columns that a row changes, as in the paper's table
    "layers": "N",
    "d_model": "d<sub>model</sub>",
    "d_ff": "d<sub>ff</sub>",
    "heads": "h",
    "d_k": "d<sub>k</sub>",
    "d_v": "d<sub>v</sub>",
    "dropout": "P<sub>drop</sub>",
    "label_smoothing": "\u03b5<sub>ls</sub>",
    "steps": STEPS,
}
SCORE_NAMES = {"perplexity": marked("Perplexity"), "bleu": marked("BLEU")}
MARKS = ("circle", "square", "triangle-up", "cross")  # of experiments; the paper has open diamonds


def table_html(table: Sequence[Line]) -> str:
    """Return the lines of Table 3 as an HTML table; what a row has in common with base is empty, as in the paper."""
    paper, here, from_base = html.escape(tr("the paper")), html.escape(tr("here")), html.escape(tr("from base"))
    groups = {
        "": (
            html.escape(tr("Row")),
            *(html.escape(tr(symbol)) if symbol == STEPS else symbol for symbol in SYMBOLS.values()),
        ),
        tr("The paper"): ("PPL", "BLEU"),
        tr("Parameters, millions"): (paper, here),
        tr("Trained here"): (SYMBOLS["d_model"], "PPL", from_base, "BLEU", from_base),
    }
    head = "".join(
        f"<th colspan={len(titles)}>{html.escape(name)}</th>" if name else f"<td colspan={len(titles)}></td>"
        for name, titles in groups.items()
    )
    titles = "".join(f"<th>{title}</th>" for each in groups.values() for title in each)
    rows: list[str] = []
    for name, group in itertools.groupby(table, key=itemgetter("row")):
        line, *more = group
        span = f" rowspan={1 + len(more)}"
        numbers = "".join(f"<td{span}>{cell}</td>" for cell in _numbers(line))
        cells = _changes(line, table[0], span) + numbers + _trained(line)
        rows += [
            f"<tr><th{span}>{html.escape(name)}</th>{cells}</tr>",
            *(f"<tr>{_trained(each)}</tr>" for each in more),
        ]
    return (
        f'<div class="table-3" role="group" aria-label="{html.escape(tr("Table 3"))}" tabindex="0"><table>'
        f"<thead><tr>{head}</tr><tr>{titles}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _changes(line: Line, base: Line, span: str) -> str:
    """Cells of what a row changes; one for all where it is none of the symbols."""
    if line["positions"] != base["positions"]:
        return f"<td{span} colspan={len(SYMBOLS)} class=note>{html.escape(tr('learned positions'))}</td>"
    shown = [name for name in SYMBOLS if line["row"] == BASE or line[name] != base[name]]
    texts = {name: f"{line[name] // 1000}K" if name == "steps" else localized(line[name]) for name in shown}
    return "".join(f"<td{span}>{texts.get(name, '')}</td>" for name in SYMBOLS)


def _numbers(line: Line) -> list[str]:
    scores = [localized(line["paper_perplexity"], ".2f"), localized(line["paper_bleu"], ".1f")]
    return [*scores, str(line["paper_parameters"] or ""), localized(line["parameters"] / 1e6, ".1f")]


def _trained(line: Line) -> str:
    if line["experiment"] is None:
        return f"<td colspan=5 class=note>{html.escape(tr('not trained'))}</td>"
    size = html.escape(line["experiment"].removeprefix("d_model_"))
    cells = [f"<td>{size}</td>"]
    for score in SCORE_NAMES:
        value = line[f"{score}_vs_base"]
        difference = "" if line["row"] == BASE or value is None else localized(value, "+.2f")
        if score == "perplexity" and line["as_in_paper"] is False:
            difference = f"<b>{difference}</b>"
        cells += [f"<td>{localized(line[score], '.2f')}</td>", f"<td>{difference}</td>"]
    return "".join(cells)


def difference_dots(table: Sequence[Line], score: str, theme: Theme) -> go.Figure:
    """Plot the differences of all rows from base: the paper's as open diamonds, those trained here as filled marks.

    Of a row with several seeds, the mark is the mean, and a bar goes from the lowest to the highest.
    """
    names = [name for name in TABLE_3 if name != BASE]
    figure = empty_figure(theme, 90 + 24 * len(names), margin=(170, 40, 16, 44))
    _dots(figure, tr("the paper"), {name: paper_difference(name, score) for name in names}, "diamond-open", theme, 0)
    compared = [line for line in table if line["row"] != BASE and line[f"{score}_vs_base"] is not None]
    for index, experiment in enumerate(sorted({line["experiment"] for line in compared})):
        lines = [line for line in compared if line["experiment"] == experiment]
        bars = {
            "array": [line[f"{score}_highest"] - line[score] for line in lines],
            "arrayminus": [line[score] - line[f"{score}_lowest"] for line in lines],
        }
        differences = {line["row"]: line[f"{score}_vs_base"] for line in lines}
        _dots(figure, experiment, differences, MARKS[index % len(MARKS)], theme, index + 1, bars)
    grid, order = {"showgrid": True, "gridcolor": theme.hairline}, {"categoryorder": "array", "categoryarray": names}
    title = tr("{measure}, difference to base", measure=tr(SCORE_NAMES[score]))
    with_layout(
        figure,
        **legend_above(),
        hovermode="closest",
        xaxis=number_axis(theme, title, **grid),
        yaxis=number_axis(theme, "", range=[len(names) - 0.5, -0.5], **order, **grid),
    )
    return figure.add_vline(x=0, line={"color": theme.faint, "width": 1})


def _dots(
    figure: go.Figure,
    name: str,
    differences: Mapping[str, float],
    symbol: str,
    theme: Theme,
    color: int,
    bars: Mapping[str, Any] | None = None,
) -> None:
    mark = theme.head_mark(color)
    figure.add_scatter(
        x=list(differences.values()),
        y=list(differences),
        mode="markers",
        marker={"color": mark.color, "size": 10, "symbol": symbol, "line": {"width": 2, "color": mark.color}},
        error_x={**bars, "symmetric": False, "color": mark.color, "thickness": 2, "width": 6} if bars else None,
        name=escaped(name),
        hovertemplate=f"%{{y}}<br>{escaped(name)} %{{x:+.3g}}<extra></extra>",
    )
