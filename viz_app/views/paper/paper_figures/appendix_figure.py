"""Attention in the style of the paper's appendix: two rows of upright words joined by lines."""

from collections.abc import Sequence
from typing import Any

from core.analysis.tokens.aggregation import mean_of_rows
from core.analysis.weight_tables import LinePanel
from core.drawing.drawing_data import attention_data, encoded_weights
from viz_app.components.component import component_beside
from viz_app.drawing.head_names import drawn_heads
from viz_app.drawing.theme import Theme, head_name
from viz_app.language import tr

KEY = "appendix_figure"
MIN_WEIGHT = 0.01  # fainter lines are invisible on paper

_component = component_beside(__file__)


def appendix_payload(panels: Sequence[LinePanel], theme: Theme, name: str) -> dict[str, Any]:
    """Return the data of panels one above the other, see `Data` in appendix_figure.js.

    Where only some queries have lines, each key also has a square for each head, with their mean weight as opacity.

    Raises:
        ValueError: There are no panels, a layer lacks a head, or a sentence lacks a word.
    """
    if not panels:
        raise ValueError("a figure needs at least one panel")
    return {"name": name, "minWeight": MIN_WEIGHT, "panels": [_panel(panel, theme) for panel in panels]}


def _panel(panel: LinePanel, theme: Theme) -> dict[str, Any]:
    attention = panel.attention
    for query in panel.queries:
        if not 0 <= query < len(attention.query_tokens):
            raise ValueError(f"there is no word {query}: the sentence has words 0 to {len(attention.query_tokens) - 1}")
    means = mean_of_rows(attention, panel.queries) if panel.queries else None
    return {
        **attention_data(attention, drawn_heads(attention.layer, panel.heads, theme, head_name), tr),
        "isCross": attention.kind == "cross",
        "queries": list(panel.queries),
        "squares": None if means is None else [encoded_weights(means[each]) for each in panel.heads],
    }


def appendix_figure(payload: dict[str, Any]) -> None:
    """Draw the figure on the page."""
    _component(data=payload, key=KEY)
