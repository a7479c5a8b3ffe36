"""One head, large: who looks at whom, with names and numbers."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from core.analysis.words import JOINT, continues_word, is_special, readable
from core.capture import AttentionMap
from viz_app.figures.base import bare_axis, color_bar, empty_figure, escaped
from viz_app.figures.theme import Theme

LABEL_PITCH = 10  # pixels a written label needs; where there is less room every second, third, ... is written, and the hover names all
USUAL_WIDTH = 400  # pixels of a map on a page, for want of knowing
MAX_CHARACTERS = 14  # of a label beside the map; the hover has room for HOVER_CHARACTERS
HOVER_CHARACTERS = 60
CHARACTER_WIDTH = 7.3  # pixels, of the 12 pixel monospace font


def head_map(
    attention: AttentionMap, head: int, theme: Theme, *, query: int | None = None, key: int | None = None, diverging: bool = False
) -> go.Figure:
    """The weights of one head: a row for each query, a column for each key, colours fixed from 0 to 1.

    A decoder row was fed one token and predicts the next: the first stands on its left, the second on its right.

    Args:
        head: counted from 0.
        query, key: a row and a column to frame.
        diverging: the weights are signed differences: colours run from -1 to 1, centred at 0.

    Raises:
        ValueError: the layer has no such head.
    """
    if not 0 <= head < attention.num_heads:
        raise ValueError(f"layer {attention.layer + 1} has {attention.num_heads} heads, there is no head {head + 1}")
    queries, keys, predicted = attention.query_tokens, attention.key_tokens, attention.predicted_tokens
    left, top = _label_space(queries), _label_space(keys)
    right = _label_space(predicted) if predicted else 4
    rows = max(150, len(queries) * min(30, max(7, 620 // len(queries))))  # pixels of the whole map
    figure = empty_figure(theme, rows + top + 44, margin=(left, top, right, 44))
    gap = 1 if max(len(queries), len(keys)) <= 40 else 0
    figure.add_heatmap(
        z=attention.weights[head].float().numpy(),
        zmin=-1 if diverging else 0,
        zmax=1,
        colorscale=theme.plotly_scale(diverging),
        colorbar=color_bar(theme, "difference" if diverging else "weight"),
        xgap=gap,
        ygap=gap,
        hovertemplate="%{y}<br>looks at <b>%{x}</b><br>%{z:.3f}<extra></extra>",
    )
    # The heatmap's own axes hold every name, for the hover. What is written beside the map are axes laid over them.
    x_range, y_range = [-0.5, len(keys) - 0.5], [len(queries) - 0.5, -0.5]
    figure.update_layout(
        xaxis=_hover_axis([_label(token, theme, HOVER_CHARACTERS) for token in keys], x_range),
        yaxis=_hover_axis(_row_names(attention, theme), y_range),
        xaxis2=_written_axis(keys, theme, key, USUAL_WIDTH, range=x_range, overlaying="x", side="top", tickangle=-90),
        yaxis2=_written_axis(queries, theme, query, rows, range=y_range, overlaying="y", side="left"),
        shapes=_frames(query, key, len(queries), len(keys), theme),
    )
    _call_up(figure, "y2")
    if predicted:
        figure.update_layout(yaxis3=_written_axis(predicted, theme, query, rows, range=y_range, overlaying="y", side="right"))
        _call_up(figure, "y3")
        figure.update_layout(annotations=[_heading("fed", theme, x=0, xanchor="right"), _heading("predicts", theme, x=1, xanchor="left")])
    return figure


def _row_names(attention: AttentionMap, theme: Theme) -> list[str]:
    """What a row is called in the hover: its query, in the decoder what was fed and what was predicted."""
    queries = [_label(token, theme, HOVER_CHARACTERS) for token in attention.query_tokens]
    if attention.predicted_tokens is None:
        return [f"<b>{query}</b>" for query in queries]
    predicted = (_label(token, theme, HOVER_CHARACTERS) for token in attention.predicted_tokens)
    return [f"fed <b>{query}</b>, predicts <b>{token}</b>" for query, token in zip(queries, predicted, strict=True)]


def _label(token: str, theme: Theme, characters: int) -> str:
    """A token as Plotly markup: escaped, cut short, with joint marks and special tokens in the faint colour."""
    text = readable(token)
    short = text if len(text) <= characters else text[: characters - 1] + "\u2026"
    if is_special(token):
        return f'<span style="color:{theme.faint}">{escaped(short)}</span>'
    if continues_word(token):
        return f'<span style="color:{theme.faint}">{JOINT}</span>{escaped(short.removeprefix(JOINT))}'
    return escaped(short)


def _hover_axis(names: Sequence[str], span: list[float]) -> dict[str, Any]:
    """Positions, not names, are the categories, so that a word that occurs twice has two rows."""
    return bare_axis(range=span, tickmode="array", tickvals=list(range(len(names))), ticktext=list(names), showticklabels=False)


def _written_axis(tokens: Sequence[str], theme: Theme, marked: int | None, pixels: int, **settings: Any) -> dict[str, Any]:
    step = -(-LABEL_PITCH * len(tokens) // pixels)
    shown = [position for position in range(len(tokens)) if position % step == 0 and (marked is None or abs(position - marked) >= step)]
    shown += [marked] if marked is not None else []
    labels = [_label(tokens[position], theme, MAX_CHARACTERS) for position in shown]
    return bare_axis(
        tickmode="array",
        tickvals=shown,
        ticktext=[f"<b>{label}</b>" if position == marked else label for position, label in zip(shown, labels, strict=True)],
        tickfont={"family": theme.monospace_font, "size": min(12, max(9, step * pixels // len(tokens) - 2)), "color": theme.text},
        ticklabelstandoff=4,
        **settings,
    )


def _label_space(tokens: Sequence[str]) -> int:
    """Pixels that the widest label takes."""
    return round(max(6, *(min(MAX_CHARACTERS, len(readable(token))) for token in tokens)) * CHARACTER_WIDTH) + 10


def _call_up(figure: go.Figure, y: str) -> None:
    """An axis without a trace is not drawn."""
    figure.add_scatter(x=[None], y=[None], xaxis="x2", yaxis=y, hoverinfo="skip")


def _heading(text: str, theme: Theme, **place: Any) -> dict[str, Any]:
    font = {"size": 11, "color": theme.faint}
    return {"text": text, "xref": "paper", "yref": "paper", "y": 1, "yanchor": "bottom", "yshift": 4, "showarrow": False, "font": font, **place}


def _frames(query: int | None, key: int | None, queries: int, keys: int, theme: Theme) -> list[dict[str, Any]]:
    """A hairline round the map, and frames round the selected row and column."""
    marked: dict[str, Any] = {"color": theme.text, "width": 1.5}
    frames: list[tuple[float, float, float, float, dict[str, Any]]] = [(-0.5, keys - 0.5, -0.5, queries - 0.5, {"color": theme.hairline, "width": 1})]
    if query is not None:
        frames.append((-0.5, keys - 0.5, query - 0.5, query + 0.5, marked))
    if key is not None:
        frames.append((key - 0.5, key + 0.5, -0.5, queries - 0.5, marked))
    return [{"type": "rect", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "line": line} for x0, x1, y0, y1, line in frames]
