"""Examples of a head or a neuron as sentences with marked tokens; a click opens one on another page.

Beside a head's example is the map of its weights: pointing at a token shows its row or column, at a cell both tokens.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from core.analysis.corpus.shown_examples import MarkedText, ShownExample
from core.capture import AttentionMap
from core.drawing.drawing_data import encoded_weights, run_spans, shown_weights
from viz_app.components.component import component_beside, draw, sent_index
from viz_app.controls.widgets import page_theme
from viz_app.drawing.display_text import decimal, direction
from viz_app.drawing.theme import LIGHT, Theme
from viz_app.language import translated

_component = component_beside(__file__)


ShownMap = tuple[AttentionMap, int]  # of a layer, and a head


def examples_payload(
    shown: Sequence[ShownExample], title: str, maps: Sequence[ShownMap] = (), theme: Theme = LIGHT
) -> dict[str, Any]:
    """Return the data of examples, see `Data` in corpus_examples.js and `corpus_examples`."""
    drawn: Sequence[ShownMap | None] = maps or [None] * len(shown)
    largest = max((each.value for each in shown), default=1) or 1
    return {
        "title": title,
        "examples": [
            {
                "texts": [_text(text) for text in each.texts],
                "value": decimal(each.value, 2),
                "share": each.value / largest,
                "note": translated(each.note),
                "map": attention and _map(*attention),
            }
            for each, attention in zip(shown, drawn, strict=True)
        ],
        "scale": theme.sequential,
    }


def corpus_examples(
    shown: Sequence[ShownExample],
    title: str,
    on_click: Callable[[int], None],
    *,
    key: str,
    maps: Sequence[ShownMap] = (),
) -> None:
    """Draw examples on the page.

    Args:
        title: the effect of a click.
        on_click: called with the number of an example, before the page runs again.
        maps: the layer and the head of each example; none of neurons.
    """
    payload = examples_payload(shown, title, maps, page_theme())
    draw(_component, payload, key, "opened", partial(sent_index, count=len(shown)), on_click)


def _text(text: MarkedText) -> dict[str, Any]:
    return {
        "direction": direction("".join(text.tokens)),
        "axis": text.axis,
        "tokens": [
            {"spans": run_spans(token), "glued": not has_space, "mark": mark, "at": position}
            for token, has_space, mark, position in text.written()
        ],
    }


def _map(attention: AttentionMap, head: int) -> dict[str, Any]:
    return {
        "weights": encoded_weights(shown_weights(attention)[head]),
        "rows": len(attention.query_tokens),
        "columns": len(attention.key_tokens),
    }
