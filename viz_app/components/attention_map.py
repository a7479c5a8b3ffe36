"""Attention as a map, one head or all three kinds in one: a row for each word that looks, a column for each it may
look at.
"""

import base64
from collections.abc import Callable
from typing import Any

from torch import Tensor

from core.analysis.joint import JointMap
from core.capture import AttentionMap
from viz_app.components.attention_lines import AXES, NO_HIGHLIGHT, Highlight, Links
from viz_app.components.component import component_beside
from viz_app.components.token_spans import label_spans
from viz_app.figures.theme import Theme, head_name

STEPS = 1000  # that a weight of 1 is sent in: three decimals, as everywhere
NO_WEIGHT = -(2**15)  # is sent where nothing can look
NOT_SEEN = "the source does not see the target"
LACKING = "no such layer or head"

_component = component_beside(__file__)


def map_payload(
    attention: AttentionMap,
    head: int,
    theme: Theme,
    *,
    diverging: bool = False,
    name: Callable[[int, int], str] = head_name,
    follows_clicks: bool = False,
    **look: Any,
) -> dict[str, Any]:
    """What the browser needs to draw one head.

    A decoder row was fed one token and predicts the next: the first stands on its left, the second on its right.

    Args:
        head: counted from 0.
        diverging: the weights are signed differences: colours run from -1 to 1, centred at 0.
        name: what to call the head, from its layer and its number.
        follows_clicks: a head of the same size that is clicked in the grid is drawn at once, before the server has
            answered.
        look: `place` and `links`, see `_drawing`.

    Returns:
        `head`: its name, colour and dashes; `followsClicks`; `query`, `key` and, in the decoder, `predicted`: the spans
        of each word; `parts`: of each axis, from where to where, and what they are called; `corners`: what is written
        over the rows' names; `blanks`: the parts that have nothing to do with each other, and why; and what `_drawing`
        returns.

    Raises:
        ValueError: the layer has no such head.
    """
    if not 0 <= head < attention.num_heads:
        raise ValueError(f"layer {attention.layer + 1} has {attention.num_heads} heads, there is no head {head + 1}")
    mark = theme.head_mark(head)
    return {
        "head": {"name": name(attention.layer, head), "color": mark.color, "dash": mark.dash},
        "followsClicks": follows_clicks,
        "query": [label_spans(token) for token in attention.query_tokens],
        "key": [label_spans(token) for token in attention.key_tokens],
        "predicted": attention.predicted_tokens and [label_spans(token) for token in attention.predicted_tokens],
        "parts": {
            "query": [_part("", 0, len(attention.query_tokens))],
            "key": [_part("", 0, len(attention.key_tokens))],
        },
        "corners": ("fed", "predicts") if attention.predicted_tokens else ("", ""),
        "blanks": [],
        **_drawing(attention.weights[head], theme, diverging, **look),
    }


def joint_payload(joint: JointMap, name: str, theme: Theme, **look: Any) -> dict[str, Any]:
    """The same of all three kinds in one matrix, whose axes are divided into source and target. Rows of the source
    predict nothing.

    Args:
        name: of the layer and the head.
        look: as for one head.
    """
    rows, columns = len(joint.rows), len(joint.columns)
    lacking = {"encoder_self": (0, 0), "cross": (1, 0), "decoder_self": (1, 1)}
    blanks = {(0, 1): NOT_SEEN} | {lacking[kind]: LACKING for kind in joint.missing}
    return {
        "head": {"name": name},
        "query": [label_spans(token) for token in joint.rows],
        "key": [label_spans(token) for token in joint.columns],
        "predicted": [*[None] * joint.source_rows, *(label_spans(token) for token in joint.predicted)],
        "parts": {
            "query": [
                _part("source", 0, joint.source_rows),
                _part("target", joint.source_rows, rows, "target, fed", "predicts"),
            ],
            "key": [_part("source", 0, joint.source_columns), _part("target", joint.source_columns, columns)],
        },
        "corners": ("", ""),
        "blanks": [{"query": query, "key": key, "why": why} for (query, key), why in blanks.items()],
        **_drawing(joint.weights, theme, **look),
    }


def attention_map(
    attention: AttentionMap, head: int, theme: Theme, *, key: str = "attention_map", **options: Any
) -> None:
    """Draw one head on the page. A click on a word selects it in the sentence above, see `sentence_bar`.

    Args:
        key: of the component, as for any widget.
        options: those of `map_payload`.
    """
    _component(data=map_payload(attention, head, theme, **options), key=key)


def joint_attention_map(joint: JointMap, name: str, theme: Theme, *, key: str = "joint_map", **options: Any) -> None:
    """The same of all three kinds in one matrix; options: those of `joint_payload`."""
    _component(data=joint_payload(joint, name, theme, **options), key=key)


def encoded(weights: Tensor) -> str:
    """Weights in steps of 1 / `STEPS` as 16-bit numbers in base 64, the last axis first; `NO_WEIGHT` for NaN."""
    steps = (weights.float() * STEPS).round().clamp(-STEPS, STEPS).nan_to_num(nan=NO_WEIGHT)
    return base64.b64encode(steps.numpy().astype("<i2").tobytes()).decode()


def _part(name: str, start: int, stop: int, before: str | None = None, after: str = "") -> dict[str, Any]:
    """Neighbours on an axis: what they are, and what is written before and behind them."""
    return {"name": name, "start": start, "stop": stop, "before": name if before is None else before, "after": after}


def _drawing(
    weights: Tensor,
    theme: Theme,
    diverging: bool = False,
    *,
    place: Highlight = NO_HIGHLIGHT,
    links: Links | None = None,
) -> dict[str, Any]:
    """What does not depend on whose weights they are.

    Args:
        weights: [Q, K]; NaN where nothing can look.
        place: rows and columns to frame.
        links: the words that rows and columns belong to: with them, a word can be selected by a click, and what is
            pointed at lights up in the other drawings of the page too, and the other way round.

    Returns:
        `weights`: see `encoded`; `steps`, `nothing`: what they are in and what stands for NaN; `scale`: its colours,
        evenly spaced from `low` to 1; `lit`, `links`: place and links.
    """
    return {
        "weights": encoded(weights),
        "steps": STEPS,
        "nothing": NO_WEIGHT,
        "scale": theme.diverging if diverging else theme.sequential,
        "low": -1 if diverging else 0,
        "lit": {axis: list(place[axis]) for axis in AXES},
        "links": links,
    }
