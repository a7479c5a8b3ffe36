"""Rows of tokens, a row for each step of a search. SVG, PDF or PNG."""

from collections.abc import Sequence

from core.analysis.tokens.words import readable
from viz_app.drawing.export.canvas import CHARACTER, Format, check_format, cut, letters
from viz_app.drawing.export.token_boxes import FREE, Box, draw_boxes
from viz_app.drawing.theme import LIGHT, Theme
from viz_app.views.translate.generation.figures import TokenCell, TokenRow, cell_color

HEIGHT, PITCH = 0.36, 0.68  # inches of a box, and from row to row


def export_rows(rows: Sequence[TokenRow], file_format: Format, theme: Theme = LIGHT, *, title: str = "") -> bytes:
    """Draw the tokens of each row in the columns of their positions.

    Probability and mark stand below. A rejected token and the one in its place stand side by side.

    Raises:
        ValueError: The format is not one of `FORMATS`.
    """
    check_format(file_format)
    widths: dict[tuple[int, int], float] = {}  # of the boxes of a position, by their order in it
    for row in rows:
        for position, order, text, _ in _boxes(row):
            widths[position, order] = max(widths.get((position, order), 0.0), letters(text) * CHARACTER + 0.15, 0.5)
    places, x = dict[tuple[int, int], float](), max((letters(row.name) for row in rows), default=0) * CHARACTER
    for place in sorted(widths):
        places[place], x = x, x + widths[place] + FREE
    boxes = [
        ((places[position, order], number * PITCH, widths[position, order]), _box(row.cells[at], theme))
        for number, row in enumerate(rows)
        for position, order, _, at in _boxes(row)
    ]
    names = [(0.0, number * PITCH + HEIGHT / 2, row.name) for number, row in enumerate(rows)]
    return draw_boxes(boxes, HEIGHT, (x, len(rows) * PITCH), title, file_format, theme, names)


def _boxes(row: TokenRow) -> list[tuple[int, int, str, int]]:
    """Position, order within it, text and index of each cell."""
    seen: dict[int, int] = {}
    found: list[tuple[int, int, str, int]] = []
    for at, cell in enumerate(row.cells):
        order = seen.get(cell.position, 0)
        seen[cell.position] = order + 1
        text = max(cut(readable(cell.token)), cell.note, key=len)
        found.append((cell.position, order, text, at))
    return found


def _box(cell: TokenCell, theme: Theme) -> Box:
    return Box(readable(cell.token), cell_color(cell, theme), cell.note, cell.state in ("predicted", "chosen"))
