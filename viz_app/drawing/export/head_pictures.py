"""Heads as SVG, PDF or PNG without a browser, and their weights as CSV."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from core.analysis.tokens.words import is_special
from core.capture import AttentionMap
from viz_app.drawing.export.canvas import (
    CHARACTER,
    FORMATS,
    LABEL_POINTS,
    PITCH,
    Format,
    cells,
    check_format,
    color_scale,
    inches,
    letters,
    paper,
    saved,
    short,
)
from viz_app.drawing.export.tables import csv_file
from viz_app.drawing.line_weights import MIN_WEIGHT, has_line
from viz_app.drawing.theme import LIGHT, Theme, head_name
from viz_app.drawing.weight_tables import lines_table
from viz_app.language import tr

__all__ = ["FORMATS", "Format", "export_csv", "export_lines", "export_map"]

ARROW = "\u25b8"
GAP = 3.4  # inches between the two columns of lines


def export_map(
    attention: AttentionMap,
    head: int,
    file_format: Format,
    theme: Theme = LIGHT,
    *,
    diverging: bool = False,
    name: Callable[[int, int], str] = head_name,
) -> bytes:
    """Draw one head as a heatmap, like `core/drawing/map.js`.

    Args:
        diverging: The weights are signed differences: colours run from -1 to 1, centred at 0.
        name: Name of a head, from its layer and its number.

    Raises:
        ValueError: The layer has no such head; the format is not one of `FORMATS`.
    """
    _check(attention, [head], file_format)
    queries, keys, predicted = attention.query_tokens, attention.key_tokens, attention.predicted_tokens
    width = max(1.8, PITCH * len(keys)) + _inches(queries) + (_inches(predicted) if predicted else 0) + 0.3
    figure, axes = paper(width, max(0.9, PITCH * len(queries)) + _inches(keys) + 0.9, theme)
    colors, low = (theme.diverging, -1.0) if diverging else (theme.sequential, 0.0)
    cells(axes, attention.weights[head].float().numpy(), colors, low, 1.0)
    axes.xaxis.tick_top()
    _label(axes.set_xticks(range(len(keys))), keys, theme, rotation=90)
    _label(axes.set_yticks(range(len(queries))), queries, theme)
    if predicted:
        right = axes.secondary_yaxis("right")
        right.tick_params(length=0)
        right.spines["right"].set_visible(False)
        _label(right.set_yticks(range(len(predicted))), predicted, theme)
        axes.set_ylabel(tr("fed"), color=theme.faint, fontsize=LABEL_POINTS)
        right.set_ylabel(tr("predicts"), color=theme.faint, fontsize=LABEL_POINTS)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_color(theme.hairline)
    head_text = tr(name(attention.layer, head))
    title = tr("{head} difference", head=head_text) if diverging else tr("{head} weight", head=head_text)
    color_scale(figure, axes, colors, low, 1.0, title, theme)
    return saved(figure, file_format)


def export_lines(
    attention: AttentionMap,
    heads: Sequence[int],
    file_format: Format,
    theme: Theme = LIGHT,
    *,
    min_weight: float = MIN_WEIGHT,
    top_mass: float | None = None,
    name: Callable[[int, int], str] = head_name,
) -> bytes:
    """Draw heads of one layer as lines between two columns of words.

    Args:
        heads: Counted from 0.
        min_weight, top_mass: Which weights have no line, see `has_line`.
        name: Name of a head, from its layer and its number.

    Raises:
        ValueError: The layer has no such head; the format is not one of `FORMATS`.
    """
    _check(attention, heads, file_format)
    queries, keys = _rows(attention), [short(token) for token in attention.key_tokens]
    left, right = (max(map(letters, labels)) * CHARACTER + 0.1 for labels in (queries, keys))
    rows = max(len(queries), len(keys))
    figure, axes = paper(left + right + GAP, PITCH * rows + 0.7, theme)
    axes.set_axis_off()
    axes.set_xlim(-left / GAP, 1 + right / GAP)
    axes.set_ylim(rows - 0.5, -1.5)
    from matplotlib.collections import LineCollection

    for place, head in enumerate(heads):
        mark, weights = theme.head_mark(head), attention.weights[head]
        shift = (place - (len(heads) - 1) / 2) * 0.6 / max(len(heads), 4)
        pairs = has_line(weights, min_weight, top_mass).nonzero().tolist()
        ends = [[(0, query + shift), (1, key + shift)] for query, key in pairs]
        alphas = [weights[query, key].item() for query, key in pairs]
        dashes = {"solid": "solid", "dash": (0, (4, 2)), "dot": (0, (1, 1.5))}[mark.dash]
        if pairs:  # matplotlib refuses an empty list of opacities
            axes.add_collection(
                LineCollection(
                    ends, colors=mark.color, alpha=np.clip(alphas, 0.0, 1.0), linewidths=2.0, linestyles=dashes
                )
            )
        title = tr(name(attention.layer, head))
        axes.text(
            (place + 0.5) / len(heads),
            -1.1,
            title,
            ha="center",
            va="center",
            color=mark.color,
            fontsize=LABEL_POINTS,
            weight="bold",
        )
    for labels, x, side in ((queries, -0.03, "right"), (keys, 1.03, "left")):
        for row, label in enumerate(labels):
            axes.text(x, row, label, ha=side, va="center", color=theme.text, fontsize=LABEL_POINTS, parse_math=False)
    return saved(figure, file_format)


def export_csv(attention: AttentionMap, heads: Sequence[int]) -> bytes:
    """Return every weight of some heads as CSV (UTF-8); layers, heads and positions are counted from 0."""
    return csv_file(lines_table(attention, heads))


def _check(attention: AttentionMap, heads: Sequence[int], file_format: str) -> None:
    check_format(file_format)
    for head in heads:
        if not 0 <= head < attention.num_heads:
            raise ValueError(
                f"layer {attention.layer + 1} has {attention.num_heads} heads, there is no head {head + 1}"
            )


def _label(ticks: Sequence[Any], tokens: Sequence[str], theme: Theme, rotation: int = 0) -> None:
    for tick, token in zip(ticks, tokens, strict=True):
        for text in (tick.label1, tick.label2):
            text.set_parse_math(False)
            text.set(color=theme.faint if is_special(token) else theme.text, fontsize=LABEL_POINTS, rotation=rotation)
    axis = ticks[0].axes.xaxis if rotation else ticks[0].axes.yaxis
    axis.set_ticklabels([short(token) for token in tokens])


def _rows(attention: AttentionMap) -> list[str]:
    if attention.predicted_tokens is None:
        return [short(token) for token in attention.query_tokens]
    return [
        f"{short(fed)} {ARROW} {short(token)}"
        for fed, token in zip(attention.query_tokens, attention.predicted_tokens, strict=True)
    ]


def _inches(tokens: Sequence[str]) -> float:
    return inches([short(token) for token in tokens])
