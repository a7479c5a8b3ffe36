"""Examples of a head or a neuron as sentences with marked tokens; a click opens one on another page."""

from collections.abc import Callable, Sequence
from typing import Any

from core.drawing.drawing_data import run_spans
from viz_app.components.component import component_beside, draw
from viz_app.drawing.display_text import decimal, direction
from viz_app.views.corpus.figures.corpus_examples import MarkedText, ShownExample

_component = component_beside(__file__)


def examples_payload(shown: Sequence[ShownExample], title: str, followed: str, count: int) -> dict[str, Any]:
    """Return the data of examples, see `Data` in corpus_examples.js.

    Args:
        title, followed, count: As for `corpus_examples`.
    """
    largest = max((each.value for each in shown), default=1) or 1
    return {
        "title": title,
        "followed": followed,
        "count": count,
        "examples": [
            {
                "texts": [_text(text) for text in each.texts],
                "value": decimal(each.value, 2),
                "share": each.value / largest,
                "note": each.note,
            }
            for each in shown
        ],
    }


def corpus_examples(
    shown: Sequence[ShownExample], title: str, on_click: Callable[[int], None], *, followed: str, count: int, key: str
) -> None:
    """Draw examples on the page.

    Args:
        title: The effect of a click.
        on_click: Called with the number of an example, before the page runs again.
        followed: Name of the page, of which there is a link on this one, that the browser goes to after a click.
        count: Number of clicks that were handled so far.
        key: Key of the component, as for any widget.
    """
    payload = examples_payload(shown, title, followed, count)
    draw(_component, payload, key, "opened", lambda value: clicked(value, len(shown)), on_click)


def clicked(value: object, count: int) -> int | None:
    """Return the number of the example that the browser sent, or None if there is no such example."""
    match value:
        case {"example": int(number)} if 0 <= number < count and not isinstance(number, bool):
            return number
        case _:
            return None


def _text(text: MarkedText) -> dict[str, Any]:
    return {
        "direction": direction("".join(text.tokens)),
        "tokens": [
            {"spans": run_spans(token), "glued": not has_space, "mark": mark}
            for token, has_space, mark in text.written()
        ],
    }
