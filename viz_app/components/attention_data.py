"""Attention as data for the browser: the part that lines and maps have in common."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from core.capture import AttentionMap
from core.drawing.axis_words import axis_words
from core.drawing.weights import encoded_weights
from viz_app.components.highlight import AXES, Highlight, Links
from viz_app.figures.head_names import COMBINED_TITLES
from viz_app.figures.theme import Theme


def attention_data(
    attention: AttentionMap,
    heads: Sequence[int],
    theme: Theme,
    place: Highlight,
    links: Links | None,
    name: Callable[[int, int], str],
    follows_clicks: bool,
) -> dict[str, Any]:
    """Return words, heads and highlights, see `AxisData` and `Head` in types.d.ts.

    Args:
        heads: Counted from 0.
        place: Highlighted rows and columns.
        links: Names of the words that rows and columns belong to. With them a word can be selected by a click, and
            words are highlighted in all drawings of the page while they are pointed at in one.
        name: Name of a head, from its layer and its number.
        follows_clicks: A head clicked in the grid is drawn at once, before the server has answered.

    Raises:
        ValueError: The layer has no such head.
    """
    for head in heads:
        if not 0 <= head < attention.num_heads:
            raise ValueError(
                f"layer {attention.layer + 1} has {attention.num_heads} heads, there is no head {head + 1}"
            )
    return {
        **axis_words(attention),
        **highlight_data(place, links),
        "heads": [
            {
                "name": name(attention.layer, head),
                "short": COMBINED_TITLES[head] if attention.layer < 0 else f"H{head + 1}",
                "weights": encoded(attention.weights[head]),
                **head_look(theme, head),
            }
            for head in heads
        ],
        "followsClicks": follows_clicks,
    }


def highlight_data(place: Highlight, links: Links | None) -> dict[str, Any]:
    """Return the highlighted rows and columns, and the names of the words."""
    return {"lit": {axis: list(place[axis]) for axis in AXES}, "links": links}


def head_look(theme: Theme, head: int) -> dict[str, str]:
    """Return the colour and the dashes of a head, counted from 0."""
    mark = theme.head_mark(head)
    return {"color": mark.color, "dash": mark.dash}


def encoded(weights: Tensor) -> str:
    """Encode weights [Q, K] for the browser."""
    return encoded_weights(weights.float().numpy())
