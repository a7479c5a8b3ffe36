"""Attention as a map: one head, or all three kinds of attention in one matrix."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from core.analysis.joint_map import JointMap
from core.capture import AttentionMap
from core.drawing.drawing_data import attention_data, encoded_weights, label_spans
from viz_app.components.attention_clicks import Cutting, OnCell, clicked_weights, draw_attention
from viz_app.components.component import component_beside, draw
from viz_app.components.word_links import NO_HIGHLIGHT, Highlight, Links, highlight_data
from viz_app.drawing.head_names import drawn_heads
from viz_app.drawing.theme import Theme, head_name
from viz_app.language import marked, tr

NOT_VISIBLE = marked("the source does not see the target")
MISSING = marked("no such layer or head")

_component = component_beside(__file__)


def map_payload(
    attention: AttentionMap,
    head: int,
    theme: Theme,
    *,
    diverging: bool = False,
    place: Highlight = NO_HIGHLIGHT,
    links: Links | None = None,
    name: Callable[[int, int], str] = head_name,
    follows_clicks: bool = False,
    most: float | None = None,
) -> dict[str, Any]:
    """Return the data of one head drawn as a map, see `MapData` in types.d.ts.

    Args:
        head: Counted from 0.
        diverging: The weights are signed differences: colours run from -1 to 1, centred at 0.
        place: Rows and columns to frame.
        links: Names of the words that rows and columns belong to. With them a word can be selected by a click, and
            words are highlighted in all drawings of the page while they are pointed at in one.
        name: Name of a head, from its layer and its number.
        follows_clicks: A head clicked in the grid is drawn at once, before the server has answered.
        most: The weights are scores before the softmax, divided by this number: the largest that is drawn.

    Raises:
        ValueError: The layer has no such head.
    """
    return {
        **attention_data(attention, drawn_heads(attention.layer, [head], theme, name), tr),
        **highlight_data(place, links),
        "followsClicks": follows_clicks,
        "scale": theme.diverging if diverging else theme.sequential,
        "low": -1 if diverging else 0,
        **({} if most is None else {"most": most, "legend": False}),
    }


def joint_payload(
    joint: JointMap, name: str, theme: Theme, *, place: Highlight = NO_HIGHLIGHT, links: Links | None = None
) -> dict[str, Any]:
    """Return the data of a joint map of a layer and a head by name; its axes are divided into source and target."""
    rows, columns = len(joint.rows), len(joint.columns)
    missing = {"encoder_self": (0, 0), "cross": (1, 0), "decoder_self": (1, 1)}
    blanks = {(0, 1): NOT_VISIBLE} | {missing[kind]: MISSING for kind in joint.missing}
    return {
        "query": [label_spans(token) for token in joint.rows],
        "key": [label_spans(token) for token in joint.columns],
        "predicted": [*[None] * joint.source_rows, *(label_spans(token) for token in joint.predicted)],
        "parts": {
            "query": [
                _part(tr("source"), 0, joint.source_rows),
                _part(tr("target"), joint.source_rows, rows, tr("target, fed"), tr("predicts")),
            ],
            "key": [_part(tr("source"), 0, joint.source_columns), _part(tr("target"), joint.source_columns, columns)],
        },
        "blanks": [{"query": query, "key": key, "reason": tr(reason)} for (query, key), reason in blanks.items()],
        "heads": [
            {
                "name": name,
                "weights": encoded_weights(joint.weights),
                "hidden": None if joint.hidden is None else encoded_weights(joint.hidden),
                **asdict(theme.head_mark(0)),
            }
        ],
        "legend": False,
        "followsClicks": False,
        "scale": theme.sequential,
        "low": 0,
        **highlight_data(place, links),
    }


def attention_map(
    attention: AttentionMap,
    head: int,
    theme: Theme,
    *,
    key: str = "attention_map",
    cutting: Cutting | None = None,
    on_cell: OnCell | None = None,
    **options: Any,
) -> None:
    """Draw one head as a map on the page, with the options of `map_payload`.

    A click on a word selects it in the sentence bar, or with `cutting`, whose cuts are marked, cuts weights instead.
    Else `on_cell` is called with a clicked cell, before the page runs again.
    """
    payload = map_payload(attention, head, theme, **options)
    draw_attention(_component, payload, attention, [head], key, cutting, on_cell)


def joint_attention_map(
    joint: JointMap, name: str, theme: Theme, *, key: str = "joint_map", on_cell: OnCell | None = None, **options: Any
) -> None:
    """Draw a joint map on the page.

    Options: those of `joint_payload`. on_cell: as for `attention_map`.
    """
    payload, size = joint_payload(joint, name, theme, **options), (len(joint.rows), len(joint.columns))
    if on_cell is None:
        _component(data=payload, key=key)
    else:
        draw(_component, payload, key, "cell", lambda value: clicked_weights(value, size, {name: 0}), on_cell)


def _part(name: str, start: int, stop: int, before: str | None = None, after: str = "") -> dict[str, Any]:
    """A run of neighbours on an axis, and the titles on both sides of their words."""
    return {"name": name, "start": start, "stop": stop, "before": name if before is None else before, "after": after}
