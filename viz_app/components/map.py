"""One head as a map, large: a row for each word that looks, a column for each it may look at; point at a cell and read its weight."""

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor

from core.capture import AttentionMap
from viz_app.components.component import component_beside, listening
from viz_app.components.labels import label_spans
from viz_app.components.lines import AXES, Axis, clicked_word
from viz_app.figures.theme import Theme, head_name

STEPS = 1000  # that a weight of 1 is sent in: three decimals, as everywhere

_component = component_beside(__file__)


def map_payload(
    attention: AttentionMap,
    head: int,
    theme: Theme,
    *,
    place: tuple[int | None, int | None] = (None, None),
    diverging: bool = False,
    links: Mapping[Axis, Sequence[str]] | None = None,
    name: Callable[[int, int], str] = head_name,
) -> dict[str, Any]:
    """What the browser needs to draw one head.

    A decoder row was fed one token and predicts the next: the first stands on its left, the second on its right.

    Args:
        head: counted from 0.
        place: a row and a column to frame.
        diverging: the weights are signed differences: colours run from -1 to 1, centred at 0.
        links: the words that rows and columns belong to, see `choice.links`: with them, what is pointed at lights up in the
            other drawings of the page too, and the other way round.
        name: what to call the head, from its layer and its number.

    Returns:
        `head`: its name, colour and dashes; `query`, `key` and, in the decoder, `predicted`: the spans of each word; `weights`:
        row by row, in steps of 1 / `STEPS`, as 16-bit numbers in base 64; `scale`: its colours, evenly spaced from `low` to 1.

    Raises:
        ValueError: the layer has no such head.
    """
    if not 0 <= head < attention.num_heads:
        raise ValueError(f"layer {attention.layer + 1} has {attention.num_heads} heads, there is no head {head + 1}")
    mark = theme.head_mark(head)
    return {
        "head": {"name": name(attention.layer, head), "color": mark.color, "dash": mark.dash},
        "query": [label_spans(token) for token in attention.query_tokens],
        "key": [label_spans(token) for token in attention.key_tokens],
        "predicted": attention.predicted_tokens and [label_spans(token) for token in attention.predicted_tokens],
        "weights": _packed(attention.weights[head]),
        "steps": STEPS,
        "scale": theme.diverging if diverging else theme.sequential,
        "low": -1 if diverging else 0,
        "lit": dict(zip(AXES, place, strict=True)),
        "links": links,
    }


def attention_map(attention: AttentionMap, head: int, theme: Theme, *, key: str = "attention_map", **options: Any) -> tuple[Axis, int] | None:
    """Draw one head on the page, and tell which word was clicked.

    Args:
        key: of the component, as for any widget.
        options: those of `map_payload`.

    Returns:
        The axis and the position of the word that was clicked just now, else None. Keep it and hand it back as `place`: the
        component remembers nothing.
    """
    result = _component(data=map_payload(attention, head, theme, **options), key=key, on_word_change=listening)
    return clicked_word(result.get("word"), len(attention.query_tokens), len(attention.key_tokens))


def _packed(weights: Tensor) -> str:
    """[Q, K] as text."""
    steps = (weights.float() * STEPS).round().clamp(-STEPS, STEPS)
    return base64.b64encode(steps.numpy().astype("<i2").tobytes()).decode()
