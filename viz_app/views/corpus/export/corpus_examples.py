"""Examples of heads and neurons as SVG, PDF or PNG: sentences with marked tokens."""

from collections.abc import Sequence
from typing import Any

from core.drawing.drawing_data import run_spans
from viz_app.drawing.export.canvas import LABEL_POINTS, SMALL_POINTS, Format, check_format, fonts, paper, saved, wrapped
from viz_app.drawing.export.token_steps import UNSURE
from viz_app.drawing.theme import LIGHT, Theme
from viz_app.views.corpus.figures.corpus_examples import MarkedText, ShownExample

ADVANCE = 0.602 * (LABEL_POINTS - 1) / 72  # inches of a character of DejaVu Sans Mono
LINE, GAP = 0.26, 0.14  # inches of a line of text, and between examples
CHARACTERS = 78  # of a line


def export_examples(
    shown: Sequence[ShownExample], file_format: Format, theme: Theme = LIGHT, *, title: str = ""
) -> bytes:
    """Draw each example on lines of its own: the key filled, the query in a frame.

    Raises:
        ValueError: The format is not one of `FORMATS`.
    """
    from matplotlib.patches import Rectangle

    check_format(file_format)
    heads = wrapped(title, CHARACTERS) or [""]
    rows = [[line for text in each.texts for line in _lines(text)] for each in shown]
    height = LINE * (len(heads) + sum(map(len, rows))) + GAP * (len(rows) + 1) + 0.1
    left, width = 0.75, ADVANCE * CHARACTERS
    figure, axes = paper(left + width + 0.2, height + 0.2, theme)
    axes.set_axis_off()
    axes.set_xlim(0, left + width)
    axes.set_ylim(height, 0)
    small: dict[str, Any] = {"va": "center", "parse_math": False, "fontsize": SMALL_POINTS}
    body: dict[str, Any] = small | {
        "fontsize": LABEL_POINTS - 1,
        "family": ["DejaVu Sans Mono", *fonts()[1:], "monospace"],
    }
    top = 0.0
    for head in heads:
        axes.text(0, top + LINE / 2, head, color=theme.faint, **small)
        top += LINE
    for each, lines in zip(shown, rows, strict=True):
        top += GAP
        axes.text(left - 0.12, top + LINE / 2, f"{each.value:.2f}", ha="right", color=theme.faint, **small)
        for line in lines:
            column = 0
            for text, mark in line:
                x, size = left + ADVANCE * (column + len(text) - len(text.lstrip())), ADVANCE * len(text.strip())
                if mark in ("key", "both"):
                    axes.add_patch(Rectangle((x, top + 0.03), size, LINE - 0.06, color=UNSURE, alpha=0.55, linewidth=0))
                if mark in ("query", "both"):
                    box: dict[str, Any] = {"facecolor": "none", "edgecolor": theme.text, "linewidth": 1.2}
                    axes.add_patch(Rectangle((x, top + 0.03), size, LINE - 0.06, **box))
                axes.text(left + ADVANCE * column, top + LINE / 2, text, color=theme.text, **body)
                column += len(text)
            top += LINE
    return saved(figure, file_format)


def _lines(text: MarkedText) -> list[list[tuple[str, str]]]:
    """Tokens as written, with their marks, broken into lines."""
    lines: list[list[tuple[str, str]]] = [[]]
    for token, has_space, mark in text.written():
        written = "".join(span for span, _ in run_spans(token))
        if has_space and sum(len(each) for each, _ in lines[-1]) + len(written) >= CHARACTERS:
            lines.append([])
        lines[-1].append((f" {written}" if has_space and lines[-1] else written, mark))
    return lines
