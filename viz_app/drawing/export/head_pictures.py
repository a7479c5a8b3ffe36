"""Heads as SVG, PDF or PNG without a browser, and their weights as CSV."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from core.analysis.tokens.words import is_special
from core.capture import AttentionMap
from core.drawing.drawing_data import TITLES
from viz_app.drawing.display_text import decimal
from viz_app.drawing.export.canvas import (
    CHARACTER,
    FORMATS,
    LABEL_POINTS,
    PITCH,
    SMALL_POINTS,
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
from viz_app.drawing.export.selection import AXES, NOTHING, SHARE, Axis, Selected, dim, hidden_texts
from viz_app.drawing.export.tables import csv_file
from viz_app.drawing.line_weights import MIN_WEIGHT, SMALL_WEIGHT, dots_note, has_line, line_collection
from viz_app.drawing.theme import LIGHT, Theme, head_name
from viz_app.drawing.weight_tables import lines_table
from viz_app.language import tr

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FORMATS", "Format", "drawn_lines", "export_csv", "export_lines", "export_map"]

ARROW = "\u25b8"
GAP = 3.4  # inches between the two columns of lines
MAX_VALUES = 4  # numbers beside one word, as in lines.js
Pair = tuple[int, int, int, float]  # position among the drawn heads, row, column, weight


def export_map(
    attention: AttentionMap,
    head: int,
    file_format: Format,
    theme: Theme = LIGHT,
    *,
    diverging: bool = False,
    name: Callable[[int, int], str] = head_name,
    selected: Selected = NOTHING,
) -> bytes:
    """Draw one head as a heatmap, like `core/drawing/map.js`.

    Args:
        diverging: The weights are signed differences: colours run from -1 to 1, centred at 0.
        name: Name of a head, from its layer and its number.
        selected: Rows and columns; the rest is dimmed.

    Raises:
        ValueError: The layer has no such head; the format is not one of `FORMATS`.
    """
    _check(attention, [head], file_format)
    queries, keys, predicted = attention.query_tokens, attention.key_tokens, attention.predicted_tokens
    width = max(1.8, PITCH * len(keys)) + _inches(queries) + (_inches(predicted) if predicted else 0) + 0.3
    hidden = hidden_texts(attention, head, diverging)
    width += SHARE if hidden else 0
    figure, axes = paper(width, max(0.9, PITCH * len(queries)) + _inches(keys) + 0.9, theme)
    colors, low = (theme.diverging, -1.0) if diverging else (theme.sequential, 0.0)
    masked = ~attention.visible.numpy()
    cells(axes, attention.weights[head].float().numpy(), colors, low, 1.0, masked, theme)
    dim(axes, selected, (len(queries), len(keys)), theme)
    axes.xaxis.tick_top()
    _label(axes.set_xticks(range(len(keys))), keys, theme, 90, selected["key"])
    _label(axes.set_yticks(range(len(queries))), queries, theme, 0, selected["query"])
    small: dict[str, Any] = {"color": theme.faint, "fontsize": SMALL_POINTS, "va": "center"}
    for row, text in enumerate(hidden):
        axes.text(len(keys) - 0.3, row, text, **small)
    if hidden:
        small["va"] = "bottom"
        axes.text(len(keys) - 0.3, -0.7, tr("hidden"), rotation=90, **small)
    if predicted:
        right = axes.secondary_yaxis("right")
        right.tick_params(length=0, pad=72 * SHARE if hidden else 3)
        right.spines["right"].set_visible(False)
        _label(right.set_yticks(range(len(predicted))), predicted, theme, 0, selected["query"])
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
    selected: Selected = NOTHING,
) -> bytes:
    """Draw heads of one layer as lines between two columns of words, like `core/drawing/lines.js`.

    At the left are the words that are attended to, at the right those that attend.

    Args:
        heads: Counted from 0.
        min_weight, top_mass: Which weights have no line, see `has_line`.
        name: Name of a head, from its layer and its number.
        selected: Rows whose lines alone are drawn, each with its weight, and columns that are marked; with columns
            alone, their lines; without any, all lines.

    Raises:
        ValueError: The layer has no such head; the format is not one of `FORMATS`.
    """
    _check(attention, heads, file_format)
    pairs = drawn_lines(attention, heads, min_weight, top_mass, selected)
    hidden = [hidden_texts(attention, head) for head in heads]
    queries, keys = _rows(attention), [short(token) for token in attention.key_tokens]
    titles = {axis: tr(title) for axis, title in zip(AXES, TITLES[attention.kind], strict=True)}
    right, left = (
        max(map(letters, [*labels, titles[axis]])) * CHARACTER + 0.1
        for axis, labels in zip(AXES, (queries, keys), strict=True)
    )
    rows, shares = max(len(queries), len(keys)), SHARE * len(heads) if any(hidden) else 0.0
    figure, axes = paper(left + right + shares + GAP, PITCH * (rows + 1) + 0.7, theme)
    axes.set_axis_off()
    axes.set_xlim(-left / GAP, 1 + (right + shares) / GAP)
    axes.set_ylim(rows - 0.5, -2.5)
    _draw_lines(axes, attention, heads, pairs, theme, name)
    sides: tuple[tuple[Axis, Sequence[str], float, str], ...] = (
        ("query", queries, 1.03, "left"),
        ("key", keys, -0.03, "right"),
    )
    for axis, labels, x, side in sides:
        met = {pair[1 if axis == "query" else 2] for pair in pairs}
        for row, label in enumerate(labels):
            on = row in selected[axis]
            color = theme.faint if any(selected.values()) and not on and row not in met else theme.text
            style: dict[str, Any] = {"ha": side, "va": "center", "fontsize": LABEL_POINTS, "parse_math": False}
            axes.text(x, row, label, color=color, weight="bold" if on else "normal", **style)
        axes.text(x, -1, titles[axis], ha=side, va="center", color=theme.faint, fontsize=SMALL_POINTS)
    if any(weight < SMALL_WEIGHT for *_, weight in pairs):
        axes.text(0.5, -1, dots_note(), ha="center", va="center", color=theme.faint, fontsize=SMALL_POINTS)
    _write_numbers(axes, attention, heads, pairs, selected, theme)
    for place, (head, texts) in enumerate(zip(heads, hidden, strict=True)):
        x = 1 + (right + SHARE * (place + 1)) / GAP
        for row, text in enumerate(texts):
            color = theme.faint if len(heads) == 1 else theme.head_mark(head).color
            axes.text(x, row, text, ha="right", va="center", color=color, fontsize=SMALL_POINTS)
    if any(hidden):
        x = 1 + (right + shares) / GAP
        axes.text(x, -1, tr("hidden"), ha="right", va="center", color=theme.faint, fontsize=SMALL_POINTS)
    return saved(figure, file_format)


def drawn_lines(
    attention: AttentionMap,
    heads: Sequence[int],
    min_weight: float = MIN_WEIGHT,
    top_mass: float | None = None,
    selected: Selected = NOTHING,
) -> list[Pair]:
    """Return the lines of `export_lines`, the heaviest last: with a selection those of its rows or, without a row, of
    its columns, as lines.js shows them.
    """
    axis: Axis = "query" if selected["query"] else "key"
    pairs: list[Pair] = []
    for place, head in enumerate(heads):
        weights = attention.weights[head].masked_fill(~attention.visible, 0)
        for query, key in has_line(weights, min_weight, top_mass).nonzero().tolist():
            if not any(selected.values()) or (query if axis == "query" else key) in selected[axis]:
                pairs.append((place, query, key, float(weights[query, key])))
    return sorted(pairs, key=lambda pair: pair[3])


def _draw_lines(
    axes: "Axes",
    attention: AttentionMap,
    heads: Sequence[int],
    pairs: Sequence[Pair],
    theme: Theme,
    name: Callable[[int, int], str],
) -> None:
    """Draw the lines and the names of the heads."""
    from matplotlib.collections import PathCollection
    from matplotlib.path import Path

    codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    for place, head in enumerate(heads):
        mark = theme.head_mark(head)
        shift = (place - (len(heads) - 1) / 2) * 0.6 / max(len(heads), 4)
        own = [pair for pair in pairs if pair[0] == place]
        ends = [(key + shift, query + shift) for _, query, key, _ in own]
        paths = [Path([(0, start), (0.4, start), (0.6, end), (1, end)], codes) for start, end in ends]
        if paths:  # matplotlib refuses an empty list of opacities
            style = line_collection([weight for *_, weight in own], mark.color, mark.dash)
            axes.add_collection(PathCollection(paths, facecolors="none", **style), autolim=False)
        place_of_name = ((place + 0.5) / len(heads), -2)
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": LABEL_POINTS, "weight": "bold"}
        axes.text(*place_of_name, tr(name(attention.layer, head)), color=mark.color, **style)


def _write_numbers(
    axes: "Axes", attention: AttentionMap, heads: Sequence[int], pairs: Sequence[Pair], selected: Selected, theme: Theme
) -> None:
    """Write the weight of each line of a selected word at its other end, in bold if the word there is selected too."""
    if not any(selected.values()):
        return
    by_row = bool(selected["query"])
    own_axis: Axis = "query" if by_row else "key"
    other_axis: Axis = "key" if by_row else "query"
    x, side = (0.01, "left") if by_row else (0.99, "right")
    tokens = attention.row_tokens if by_row else attention.key_tokens
    ends: dict[int, list[str]] = {}
    for place, query, key, weight in reversed(pairs):
        own, other = (query, key) if by_row else (key, query)
        parts = [f"H{heads[place] + 1}"] if len(heads) > 1 and attention.layer >= 0 else []
        parts += [short(tokens[own], 10)] if len(selected[own_axis]) > 1 else []
        ends.setdefault(other, []).append(" ".join([*parts, decimal(weight, 3)]))
    for row, texts in ends.items():
        more = [f"+{len(texts) - MAX_VALUES}"] if len(texts) > MAX_VALUES else []
        text = "   ".join([*texts[:MAX_VALUES], *more])
        ground = {"facecolor": theme.background, "alpha": 0.88, "linewidth": 0, "pad": 1}
        boldness = "bold" if row in selected[other_axis] else "normal"
        style: dict[str, Any] = {"ha": side, "va": "center", "fontsize": SMALL_POINTS, "parse_math": False}
        axes.text(x, row, text, color=theme.text, weight=boldness, bbox=ground, **style)


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


def _label(
    ticks: Sequence[Any], tokens: Sequence[str], theme: Theme, rotation: int = 0, selected: Sequence[int] = ()
) -> None:
    for place, (tick, token) in enumerate(zip(ticks, tokens, strict=True)):
        for text in (tick.label1, tick.label2):
            text.set_parse_math(False)
            text.set(color=theme.faint if is_special(token) else theme.text, fontsize=LABEL_POINTS, rotation=rotation)
            text.set_weight("bold" if place in selected else "normal")
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
