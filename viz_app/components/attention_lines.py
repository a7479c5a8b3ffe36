"""Heads as lines between two columns of words, as in the paper's appendix."""

from collections.abc import Callable, Sequence
from typing import Any

from core.capture import AttentionMap
from core.drawing.drawing_data import attention_data
from viz_app.components.attention_clicks import Cutting, draw_attention
from viz_app.components.component import component_beside
from viz_app.components.word_links import NO_HIGHLIGHT, Highlight, Links, highlight_data, line_highlight
from viz_app.drawing.head_names import drawn_heads
from viz_app.drawing.theme import Theme, head_name
from viz_app.language import tr

MIN_WEIGHT = 0.02  # smaller weights are many

_component = component_beside(__file__)


def lines_payload(
    attention: AttentionMap,
    heads: Sequence[int],
    theme: Theme,
    *,
    min_weight: float = MIN_WEIGHT,
    top_mass: float | None = None,
    place: Highlight = NO_HIGHLIGHT,
    links: Links | None = None,
    height: int = 560,
    name: Callable[[int, int], str] = head_name,
    follows_clicks: bool = False,
) -> dict[str, Any]:
    """Return the data of heads drawn as lines, see `LinesData` in types.d.ts.

    Args:
        heads: Counted from 0.
        min_weight, top_mass: Which weights have no line, see `lineWeights` in weights.js.
        place: Highlighted rows and columns, whose lines alone are shown while no word is pointed at.
        links, name, follows_clicks: See `map_payload`.
        height: In pixels; more words scroll.

    Raises:
        ValueError: The layer has no such head; `min_weight` or `top_mass` is not between 0 and 1.
    """
    for share, value in (("min_weight", min_weight), ("top_mass", top_mass)):
        if value is not None and not 0 <= value <= 1:
            raise ValueError(f"{share} ({value}) must be between 0 and 1")
    return {
        **attention_data(attention, drawn_heads(attention.layer, heads, theme, name), tr),
        **highlight_data(place, links),
        "followsClicks": follows_clicks,
        "minWeight": min_weight,
        "topMass": top_mass,
        "selected": [(axis, index) for axis, indices in line_highlight(place, links).items() for index in indices],
        "height": height,
    }


def attention_lines(
    payload: dict[str, Any],
    attention: AttentionMap,
    heads: Sequence[int],
    *,
    key: str = "attention_lines",
    cutting: Cutting | None = None,
) -> None:
    """Draw heads as lines on the page, from `lines_payload` of this map and these heads.

    A click on a word selects it in the sentence bar, or with `cutting`, whose cuts are marked, cuts weights instead.
    """
    draw_attention(_component, payload, attention, heads, key, cutting)
