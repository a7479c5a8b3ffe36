"""The logit lens as a grid and as tables."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from core.analysis.lens.logit_lens import LogitLens
from core.analysis.tokens.words import readable
from core.results import ScoredText
from viz_app.drawing.cell_grid import CellGrid, GridCell, Legend
from viz_app.drawing.display_text import decimal
from viz_app.drawing.head_grid import readable_on
from viz_app.drawing.theme import Theme
from viz_app.language import joined, marked, tr

if TYPE_CHECKING:
    import pandas as pd

PROBABILITY = marked("probability of the most probable token")
Piece = Callable[[int], str]  # a piece of the vocabulary by its id


def level_name(level: int) -> str:
    """Return the name of a level: `Input`, then `L1`, `L2`, ..."""
    return f"L{level}" if level else tr("Input")


def lens_grid(lens: LogitLens, piece: Piece, theme: Theme, selected: tuple[int, int] | None = None) -> CellGrid:
    """Return a grid with a row for each predicted token and a column for each level.

    A cell has the most probable token, coloured by its probability, and bold from the level on from which the predicted
    token stays the most probable. It is grey if that token is a copy of the input, the token that was fed.

    Args:
        selected: Row and level of the cell with a frame.
    """
    shades = theme.sequential
    decided = lens.decided

    def cell(row: int, level: int) -> GridCell:
        token = readable(piece(int(lens.token_ids[level, row, 0])))
        probability = math.exp(float(lens.log_probs[level, row, 0]))
        own, rank = math.exp(float(lens.predicted_log_probs[level, row])), int(lens.predicted_ranks[level, row])
        predicted = readable(lens.explanation.predicted_tokens[row])
        is_copy = token != predicted and token == readable(lens.explanation.fed_tokens[row])
        color = (theme.greys if is_copy else shades)[round(min(probability, 1.0) * (len(shades) - 1))]
        first = decided[row]
        name = f"{predicted}, {level_name(level)}: {token} {decimal(probability, 3)}"
        if rank > 1:
            own_rank = tr("{token} {probability}, rank {rank}", token=predicted, probability=decimal(own, 3), rank=rank)
            name = f"{name}; {own_rank}"
        if is_copy:
            name = f"{name}; {tr('a copy of the input')}"
        return GridCell(
            text=token,
            name=name,
            color=color,
            text_color=readable_on(color),
            marked=(row, level) == selected,
            strong=first is not None and level >= first,
        )

    levels = range(lens.num_layers + 1)
    rows = [
        (readable(token), [cell(row, level) for level in levels])
        for row, token in enumerate(lens.explanation.predicted_tokens)
    ]
    legend = tr(
        "probability of the most probable token; bold: the predicted token, from where on it stays on top; grey: a "
        "copy of the input"
    )
    colors = tuple(shades[round(share * (len(shades) - 1))] for share in (0, 0.25, 0.5, 0.75, 1))
    return CellGrid(
        columns=[level_name(level) for level in levels],
        rows=rows,
        name=tr("Most probable tokens by layer"),
        cell_width=9,
        legend=Legend(legend, colors, "0", "1"),
    )


def decided_text(decided: Sequence[int | None]) -> str:
    """Say where the tokens of a translation were decided, as one sentence."""
    known = [level for level in decided if level is not None]
    never = len(decided) - len(known)
    layers = joined(f"{level_name(level)}: {known.count(level)}" for level in sorted(set(known)))
    text = tr("Tokens decided in each layer: {layers}.", layers=layers or tr("none"))
    return f"{text} {tr('Never the most probable: {count}.', count=never)}" if never else text


def levels_table(translations: Sequence[ScoredText]) -> "pd.DataFrame":
    """Return the translation from each encoder level."""
    import pandas as pd

    return pd.DataFrame(
        {
            "level": [level_name(level) for level in range(len(translations))],
            "translation": [translation.text for translation in translations],
            "log_prob": [translation.log_prob for translation in translations],
        }
    )
