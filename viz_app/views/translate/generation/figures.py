"""A translation as it is generated: rows of tokens, one for each step, on the page."""

import html
import math
from collections.abc import Sequence

from core.analysis.generation_rows import State, TokenCell, TokenRow
from core.analysis.tokens.words import readable
from viz_app.drawing.head_grid import readable_on
from viz_app.drawing.theme import Theme
from viz_app.language import localized, translated

STRONGEST = 0.35  # of the colour scale, so that words stay easy to read
MARKS: dict[State, str] = {
    "predicted": "",
    "accepted": "\u2713",
    "rejected": "\u2717",
    "chosen": "+",
    "masked": "\u21bb",
    "kept": "=",
}


def note(cell: TokenCell) -> str:
    """Mark of the state, and the probability."""
    number = "" if cell.log_prob is None else localized(math.exp(cell.log_prob), ".2f")
    return " ".join(filter(None, (MARKS[cell.state], number)))


def cell_color(cell: TokenCell, theme: Theme) -> str:
    """Colour behind a token, stronger for a more probable one; none for rejected ones."""
    probability = 0.0 if cell.log_prob is None else math.exp(cell.log_prob)
    return theme.sequential[round(STRONGEST * probability * (len(theme.sequential) - 1))]


def rows_html(rows: Sequence[TokenRow], theme: Theme, selected: int | None = None) -> str:
    """The rows as an HTML table, a column for each position, with the row of a number marked."""
    body = "".join(
        f"<tr{' class=selected' if number == selected else ''}><th scope=row>{html.escape(translated(row.name))}</th>"
        + "".join(_cell_html(of, theme) for of in _columns(row))
        + "</tr>"
        for number, row in enumerate(rows)
    )
    return f'<div class="token-rows" tabindex=0><table>{body}</table></div>'


def _columns(row: TokenRow) -> list[list[TokenCell]]:
    """The cells of each position from 0 on, two in speculative decoding where a token was rejected."""
    count = max((cell.position for cell in row.cells), default=-1) + 1
    return [[cell for cell in row.cells if cell.position == position] for position in range(count)]


def _cell_html(cells: Sequence[TokenCell], theme: Theme) -> str:
    spans = "".join(
        f'<span class="{cell.state}" style="background:{cell_color(cell, theme)};color:{_ink(cell, theme)}">'
        f"<b dir=auto>{html.escape(readable(cell.token))}</b><small>{html.escape(note(cell))}</small></span>"
        for cell in cells
    )
    return f"<td>{spans}</td>"


def _ink(cell: TokenCell, theme: Theme) -> str:
    return theme.faint if cell.state == "rejected" else readable_on(cell_color(cell, theme))
