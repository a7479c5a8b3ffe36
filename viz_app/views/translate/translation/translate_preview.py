"""Previews of the page Translate, see `session/previews.py`."""

from typing import Any

from viz_app.components.attention_lines import lines_payload
from viz_app.controls.widgets import page_theme
from viz_app.session import chosen_heads, previews, word_selection
from viz_app.session.readings import Reading, TokenView
from viz_app.views.translate.translation.token_steps import KEY, steps_payload

EXAMPLE, EXAMPLE_HEIGHT = "example_head", 420  # key and pixels of the head that the page draws as an example
WHOLE_WORDS = TokenView(words=True, hide_special=True)


def offer() -> None:
    """Offer the page's drawings for other sentences."""
    theme = page_theme()

    def drawings(other: Reading) -> dict[str, Any]:
        layer, head = chosen_heads.default_head(other.explain().maps["cross"])
        links = word_selection.links(other.explain(), "cross", WHOLE_WORDS)
        attention = other.maps("cross", WHOLE_WORDS)[layer]
        example = lines_payload(attention, [head], theme, height=EXAMPLE_HEIGHT, links=links)
        return {KEY: steps_payload(other.explain()), EXAMPLE: example}

    previews.offer("translation", drawings)
