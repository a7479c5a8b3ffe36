"""A translation as it is generated: rows of tokens, one for each step, on the page and in tables."""

import html
import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from core.analysis.tokens.words import readable
from core.decoding import MaskPredictState, SpeculativeStep
from core.results import ScoredText
from core.text.byte_pieces import MASK
from core.translator import Translator
from viz_app.drawing.head_grid import readable_on
from viz_app.drawing.theme import Theme
from viz_app.language import localized, tr

State = Literal["predicted", "accepted", "rejected", "chosen", "masked", "kept"]
STRONGEST = 0.35  # of the colour scale, so that words stay easy to read
MARKS: dict[State, str] = {
    "predicted": "",
    "accepted": "\u2713",
    "rejected": "\u2717",
    "chosen": "+",
    "masked": "\u21bb",
    "kept": "=",
}


class TokenCell(NamedTuple):
    """A token of a row.

    Attributes:
        position: of the translation, counted from 0.
        token: its piece.
        state: `predicted` in this step; of speculative decoding `accepted`, `rejected`, or `chosen` by the large model;
            of mask-predict `masked`: predicted, to be masked and predicted again next, `kept`: not predicted here.
        log_prob: in nats, where the model has computed it.
    """

    position: int
    token: str
    state: State
    log_prob: float | None = None

    @property
    def note(self) -> str:
        """Mark of the state, and the probability."""
        number = "" if self.log_prob is None else localized(math.exp(self.log_prob), ".2f")
        return " ".join(filter(None, (MARKS[self.state], number)))


class TokenRow(NamedTuple):
    """The tokens of one step."""

    name: str
    cells: tuple[TokenCell, ...]


def search_rows(best: Sequence[tuple[str, ScoredText]]) -> list[TokenRow]:
    """A row for each search: its best translation, to which each step has added one token."""
    return [
        TokenRow(
            name,
            tuple(
                TokenCell(position, token, "predicted", log_prob)
                for position, (token, log_prob) in enumerate(zip(text.tokens, text.token_log_probs, strict=True))
            ),
        )
        for name, text in best
    ]


def speculative_rows(steps: Sequence[SpeculativeStep], translator: Translator) -> list[TokenRow]:
    """A row for each check: the drafted tokens, accepted or rejected, then the large model's own."""
    rows: list[TokenRow] = []
    start = 0
    for number, step in enumerate(steps, start=1):
        drafted, added = translator.codec.pieces(step.drafted), translator.codec.pieces(step.added)
        log_probs = step.hypothesis.token_log_probs[start:]
        cells = [
            TokenCell(start + at, token, "accepted", log_probs[at])
            if at < step.accepted
            else TokenCell(start + at, token, "rejected")
            for at, token in enumerate(drafted)
        ]
        own = [TokenCell(start + at, added[at], "chosen", log_probs[at]) for at in range(step.accepted, len(added))]
        rows.append(TokenRow(tr("Check {number}", number=number), (*cells, *own)))
        start += len(step.added)
    return rows


def mask_predict_rows(states: Sequence[MaskPredictState], translator: Translator) -> list[TokenRow]:
    """A row for each iteration: all tokens, with marks for those predicted in it and those to be masked next."""
    rows: list[TokenRow] = []
    for state in states:
        pieces, fed = translator.codec.pieces(state.token_ids), translator.codec.pieces(state.fed_ids)
        states_of: list[State] = ["predicted" if each == MASK else "kept" for each in fed]
        for position in state.masked_next:
            states_of[position] = "masked"
        cells = enumerate(zip(pieces, states_of, state.token_log_probs, strict=True))
        name = tr("Iteration {number}", number=state.iteration)
        rows.append(TokenRow(name, tuple(TokenCell(at, *each) for at, each in cells)))
    return rows


def rows_table(rows: Sequence[TokenRow]) -> dict[str, list[Any]]:
    """A row for each token of each step."""
    cells = [(number, row.name, *cell) for number, row in enumerate(rows) for cell in row.cells]
    return {name: [cell[at] for cell in cells] for at, name in enumerate(("step", "name", *TokenCell._fields))}


def cell_color(cell: TokenCell, theme: Theme) -> str:
    """Colour behind a token, stronger for a more probable one; none for rejected ones."""
    probability = 0.0 if cell.log_prob is None else math.exp(cell.log_prob)
    return theme.sequential[round(STRONGEST * probability * (len(theme.sequential) - 1))]


def rows_html(rows: Sequence[TokenRow], theme: Theme, selected: int | None = None) -> str:
    """The rows as an HTML table, a column for each position, with the row of a number marked."""
    body = "".join(
        f"<tr{' class=selected' if number == selected else ''}><th scope=row>{html.escape(row.name)}</th>"
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
        f"<b dir=auto>{html.escape(readable(cell.token))}</b><small>{html.escape(cell.note)}</small></span>"
        for cell in cells
    )
    return f"<td>{spans}</td>"


def _ink(cell: TokenCell, theme: Theme) -> str:
    return theme.faint if cell.state == "rejected" else readable_on(cell_color(cell, theme))
