"""One part of a head's scores as a map of tokens."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from torch import Tensor

from core.analysis.score_decomposition import ScoreParts
from core.analysis.tokens.words import JOINT, continues_word, is_special, readable
from viz_app.figures.plotly_chart import bare_axis, color_bar, empty_figure, escaped
from viz_app.figures.theme import Theme

WRITTEN = 32  # tokens named beside the map; more are named on hover only
MAX_CHARACTERS = 14  # of a name
CHARACTER_WIDTH = 7.3  # pixels, of the 12 pixel monospace font


def score_map(matrix: Tensor, found: ScoreParts, most: float, theme: Theme) -> go.Figure:
    """Draw a row for each query and a column for each key, colours from -most to most.

    Masked cells are empty.

    Args:
        matrix: [Q, K], any part of one head's scores, or their sum.
        most: The same for all parts to be compared.
    """
    tokens = found.tokens
    written = len(tokens) <= WRITTEN
    side = _label_space(tokens) if written else 6
    figure = empty_figure(theme, 250 + side, margin=(side, side, 4, 40))
    figure.add_heatmap(
        z=np.where(found.allowed.numpy(), matrix.numpy(), np.nan).astype(np.float32),
        zmin=-most,
        zmax=most,
        colorscale=theme.plotly_scale(diverging=True),
        colorbar={
            **color_bar(theme, ""),
            "tickvals": [-most, 0, most],
            "ticktext": [f"{-most:.1f}", "0", f"{most:.1f}"],
        },
        hoverongaps=False,
        hovertemplate="query <b>%{y}</b>, key <b>%{x}</b><br>%{z:+.3f}<extra></extra>",
    )
    names = [_label(token, theme) for token in tokens]
    look = {
        "showticklabels": written,
        "tickfont": {"family": theme.monospace_font, "size": 10, "color": theme.text},
        "ticklabelstandoff": 3,
    }
    end = len(tokens) - 0.5
    return figure.update_layout(
        xaxis={**_token_axis(names, [-0.5, end]), **look, "side": "top", "tickangle": -90},
        yaxis={**_token_axis(names, [end, -0.5]), **look},
    )


def _token_axis(names: Sequence[str], span: list[float]) -> dict[str, Any]:
    """Return an axis of positions, so that a repeated word has two rows."""
    return bare_axis(range=span, tickmode="array", tickvals=list(range(len(names))), ticktext=list(names))


def _label(token: str, theme: Theme) -> str:
    """Return a token as Plotly markup.

    Escaped, cut, joint marks and special tokens faint.
    """
    text = readable(token)
    short = text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "\u2026"
    if is_special(token):
        return f'<span style="color:{theme.faint}">{escaped(short)}</span>'
    if continues_word(token):
        return f'<span style="color:{theme.faint}">{JOINT}</span>{escaped(short.removeprefix(JOINT))}'
    return escaped(short)


def _label_space(tokens: Sequence[str]) -> int:
    """Return the width of the widest label in pixels."""
    return round(max(6, *(min(MAX_CHARACTERS, len(readable(token))) for token in tokens)) * CHARACTER_WIDTH) + 10
