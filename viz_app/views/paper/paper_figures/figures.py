"""Attention in the style of the paper's appendix: two rows of upright words joined by lines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

import pandas as pd
from torch import Tensor

from core.analysis.tokens.aggregation import mean_of_rows
from core.analysis.tokens.words import is_special
from core.capture import AttentionMap
from viz_app.drawing.export.canvas import LABEL_POINTS, PITCH, SMALL_POINTS, Format, check_format, paper, saved, short
from viz_app.drawing.line_weights import DASHES, SMALL_WEIGHT, LineStyle, dots_note, has_line, line_collection
from viz_app.drawing.theme import LIGHT, HeadMark, Theme, head_name
from viz_app.drawing.weight_tables import lines_table
from viz_app.language import tr

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MIN_WEIGHT = 0.01  # fainter lines are invisible on paper
GAP = 2.1  # inches between the two rows of words
HEADING = 0.36  # inches for the names of the heads
NAME = 1.0  # inches that the name of a head takes
CHARACTER = 0.105  # inches a letter of a word takes
CELL = 0.08  # inches a head's square at a word is high


@dataclass(frozen=True)
class LinePanel:
    """One panel of a figure: some heads of one layer on one sentence.

    Attributes:
        heads: Counted from 0.
        queries: Words whose lines are drawn; empty: all words.
    """

    attention: AttentionMap
    heads: tuple[int, ...]
    queries: tuple[int, ...] = ()


def appendix_figure(
    panels: Sequence[LinePanel],
    file_format: Format,
    theme: Theme = LIGHT,
    *,
    name: Callable[[int, int], str] = head_name,
) -> bytes:
    """Draw panels one above the other, with lines that show the weights, see `line_style`.

    In self-attention queries stand above keys, as in the paper; in cross-attention the source above the target.
    Where only some queries have lines, each key also has a square for each head, with their mean weight as opacity.

    Args:
        name: Name of a head, from its layer and its number.

    Raises:
        ValueError: There are no panels, a layer lacks a head, a sentence lacks a word, or the format is not one of
            `FORMATS`.
    """
    check_format(file_format)
    for panel in panels:
        _check(panel)
    if not panels:
        raise ValueError("a figure needs at least one panel")
    heights = [_height(panel) for panel in panels]
    width = figure_width(panels)
    figure, axes = paper(width, sum(heights), theme)
    figure.set_layout_engine("none")
    axes.remove()
    top = 1.0
    for panel, height in zip(panels, heights, strict=True):
        share = height / sum(heights)
        _draw(figure.add_axes((0, top - share, 1, share)), panel, width, height, theme, name)
        top -= share
    return saved(figure, file_format)


def figure_width(panels: Sequence[LinePanel]) -> float:
    """Return the width in inches of the longest row of words or of head names."""
    words = max(max(panel.attention.weights.shape[1:]) for panel in panels)
    return max(PITCH * words, NAME * (2 + max(len(panel.heads) for panel in panels))) + 0.45


def appendix_table(panels: Sequence[LinePanel]) -> pd.DataFrame:
    """Return the weights behind the lines, a row each; panels, positions, layers and heads are counted from 0."""
    tables: list[pd.DataFrame] = []
    for number, panel in enumerate(panels):
        table = lines_table(panel.attention, panel.heads)
        table.insert(0, "panel", number)
        tables.append(table.query("query_position in @panel.queries") if panel.queries else table)
    return pd.concat(tables, ignore_index=True)


def _check(panel: LinePanel) -> None:
    attention = panel.attention
    for head in panel.heads:
        if not 0 <= head < attention.num_heads:
            raise ValueError(
                f"layer {attention.layer + 1} has {attention.num_heads} heads, there is no head {head + 1}"
            )
    for query in panel.queries:
        if not 0 <= query < len(attention.query_tokens):
            raise ValueError(f"there is no word {query}: the sentence has words 0 to {len(attention.query_tokens) - 1}")


def _height(panel: LinePanel) -> float:
    above, below = _length(_queries(panel.attention)), _length(panel.attention.key_tokens)
    return above + GAP + below + HEADING + (CELL * len(panel.heads) if panel.queries else 0)


def _length(tokens: Sequence[str]) -> float:
    """Return the length of the longest word in inches; CJK letters are wide."""
    return 0.15 + CHARACTER * max(
        sum(1.7 if east_asian_width(letter) in "WF" else 1 for letter in short(token)) for token in tokens
    )


def _queries(attention: AttentionMap) -> tuple[str, ...]:
    """Return the words of the rows: in the decoder the predicted ones."""
    return attention.predicted_tokens or attention.query_tokens


def _draw(
    axes: "Axes", panel: LinePanel, width: float, height: float, theme: Theme, name: Callable[[int, int], str]
) -> None:
    """Draw one panel, in inches from its lower left corner."""
    attention, cells = panel.attention, CELL * len(panel.heads) if panel.queries else 0.0
    queries, keys, is_cross = _queries(attention), attention.key_tokens, attention.kind == "cross"
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(0, height)
    bottom = _length(queries if is_cross else keys)
    top = bottom + cells + GAP
    between = (bottom, top - cells) if is_cross else (top, bottom + cells)  # ends of lines at queries and at keys
    squares = top - cells if is_cross else bottom
    marks = [theme.head_mark(head) for head in panel.heads]
    for place, (head, mark) in enumerate(zip(panel.heads, marks, strict=True)):
        shift = (place - (len(panel.heads) - 1) / 2) * PITCH * 0.5 / max(len(panel.heads), 4)
        _join(axes, attention.weights[head], panel.queries, mark, between, shift)
        if panel.queries:
            _squares(
                axes,
                mean_of_rows(attention, panel.queries)[head],
                mark,
                squares + CELL * (len(panel.heads) - 1 - place),
            )
    rows = (keys, queries) if is_cross else (queries, keys)
    for tokens, y, side in ((rows[0], top + 0.06, "bottom"), (rows[1], bottom - 0.06, "top")):
        for position, token in enumerate(tokens):
            is_query = (side == "bottom") != is_cross
            asks = is_query and position in panel.queries
            color = theme.text if not is_special(token) and (asks or not is_query or not panel.queries) else theme.faint
            weight = "bold" if asks else "normal"
            text = axes.text(_x(position), y, short(token), color=color, fontsize=LABEL_POINTS, parse_math=False)
            text.set(weight=weight, ha="center", va=side, rotation=90)
    _legend(axes, panel, marks, height, theme, name)


def _x(position: int) -> float:
    return 0.22 + PITCH * (position + 0.5)


def _join(
    axes: "Axes", weights: Tensor, queries: Sequence[int], mark: HeadMark, between: tuple[float, float], shift: float
) -> None:
    """Draw the lines of one head."""
    from matplotlib.collections import LineCollection

    pairs = [
        (row, column)
        for row, column in has_line(weights, MIN_WEIGHT).nonzero().tolist()
        if not queries or row in queries
    ]
    ends = [[(_x(row) + shift, between[0]), (_x(column) + shift, between[1])] for row, column in pairs]
    if pairs:  # matplotlib refuses an empty list of opacities
        style = line_collection([weights[pair].item() for pair in pairs], mark.color, mark.dash)
        axes.add_collection(LineCollection(ends, **style))


def _squares(axes: "Axes", weights: Tensor, mark: HeadMark, y: float) -> None:
    """Draw one head's square at each word, its weight as opacity."""
    from matplotlib.patches import Rectangle

    for position, weight in enumerate(weights.tolist()):
        if weight >= MIN_WEIGHT:
            axes.add_patch(
                Rectangle(
                    (_x(position) - PITCH * 0.42, y),
                    PITCH * 0.84,
                    CELL,
                    color=mark.color,
                    alpha=min(1.0, weight),
                    linewidth=0,
                )
            )


def _legend(
    axes: "Axes",
    panel: LinePanel,
    marks: Sequence[HeadMark],
    height: float,
    theme: Theme,
    name: Callable[[int, int], str],
) -> None:
    """Name the heads beside their lines; squares are in the same order from the top."""
    x, y = 0.22, height - 0.15
    for head, mark in zip(panel.heads, marks, strict=True):
        text = tr(name(panel.attention.layer, head))
        axes.plot([x, x + 0.26], [y, y], color=mark.color, **LineStyle(4, 1, DASHES[mark.dash]).for_matplotlib)
        axes.text(x + 0.32, y, text, color=theme.text, fontsize=SMALL_POINTS, va="center", parse_math=False)
        x += max(NAME, 0.44 + 0.1 * len(text))
    if any(_has_dots(panel, head) for head in panel.heads):
        axes.text(x, y, dots_note(), color=theme.faint, fontsize=SMALL_POINTS, va="center", parse_math=False)


def _has_dots(panel: LinePanel, head: int) -> bool:
    rows = panel.attention.weights[head][list(panel.queries) or slice(None)]
    return bool((has_line(rows, MIN_WEIGHT) & (rows < SMALL_WEIGHT)).any())
