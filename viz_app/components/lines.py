"""Heads as lines between two columns of words, as in the paper's appendix, but live: hover a word and read its numbers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from torch import Tensor

from core.capture import AttentionMap, Kind
from viz_app.components.component import component_beside, listening
from viz_app.components.labels import FED_ARROW, label_spans, row_spans
from viz_app.figures.lines import MIN_WEIGHT, drawn
from viz_app.figures.theme import Theme, head_name

Axis = Literal["query", "key"]
AXES: tuple[Axis, Axis] = ("query", "key")

COMBINED_TITLES = ("mean", "max")  # of many heads as one, where there is little room
DECIMALS = 3
_TITLES: dict[Kind, tuple[str, str]] = {
    "encoder_self": ("source", "looks at source"),
    "decoder_self": (f"fed {FED_ARROW} predicts", "looks at what was fed"),
    "cross": (f"fed {FED_ARROW} predicts", "looks at source"),
}

_component = component_beside(__file__)


def lines_payload(
    attention: AttentionMap,
    heads: Sequence[int],
    theme: Theme,
    *,
    min_weight: float = MIN_WEIGHT,
    top_mass: float | None = None,
    selected: tuple[Axis, int] | None = None,
    links: Mapping[Axis, Sequence[str]] | None = None,
    height: int = 560,
    name: Callable[[int, int], str] = head_name,
) -> dict[str, Any]:
    """What the browser needs to draw some heads of one layer as lines.

    Args:
        heads: counted from 0.
        min_weight, top_mass: which lines are left out, see `drawn`.
        selected: the word whose lines alone are shown while the pointer is elsewhere.
        links: the words that rows and columns belong to, see `choice.links`: with them, what is pointed at lights up in the
            other drawings of the page too, and the other way round.
        height: in pixels; more words scroll.
        name: what to call a head, from its layer and its number.

    Returns:
        `queries` and `keys`: a title and, for each word, its spans; `heads`: name, the same beside a number, where the
        layer is known, colour, dashes and the lines as a flat list query, key, weight, query, key, weight ...

    Raises:
        ValueError: the layer has no such head; `min_weight` or `top_mass` is not between 0 and 1.
    """
    for head in heads:
        if not 0 <= head < attention.num_heads:
            raise ValueError(f"layer {attention.layer + 1} has {attention.num_heads} heads, there is no head {head + 1}")
    query_title, key_title = _TITLES[attention.kind]
    predicted = attention.predicted_tokens or (None,) * len(attention.query_tokens)
    rows = [row_spans(fed, token) for fed, token in zip(attention.query_tokens, predicted, strict=True)]
    return {
        "queries": {"title": query_title, "words": rows},
        "keys": {"title": key_title, "words": [label_spans(token) for token in attention.key_tokens]},
        "heads": [
            {
                "name": name(attention.layer, head),
                "short": COMBINED_TITLES[head] if attention.layer < 0 else f"H{head + 1}",
                "color": theme.head_mark(head).color,
                "dash": theme.head_mark(head).dash,
                "lines": _triples(attention.weights[head], drawn(attention.weights[head], min_weight, top_mass)),
            }
            for head in heads
        ],
        "selected": list(selected) if selected else None,
        "links": links,
        "height": height,
    }


def attention_lines(
    attention: AttentionMap,
    heads: Sequence[int],
    theme: Theme,
    *,
    key: str = "attention_lines",
    **options: Any,
) -> tuple[Axis, int] | None:
    """Draw the lines on the page, and tell which word was clicked.

    Args:
        key: of the component, as for any widget.
        options: those of `lines_payload`.

    Returns:
        The axis and the position of the word that was clicked just now, else None. Keep it and hand it back as
        `selected`: the component remembers nothing.
    """
    payload = lines_payload(attention, heads, theme, **options)
    result = _component(data=payload, key=key, on_word_change=listening)
    return clicked_word(result.get("word"), len(attention.query_tokens), len(attention.key_tokens))


def clicked_word(value: object, queries: int, keys: int) -> tuple[Axis, int] | None:
    """What the browser sent as an axis and a position of the drawing, or None if it is neither."""
    match value:
        case {"axis": "query" | "key" as axis, "index": int(index)} if 0 <= index < (queries if axis == "query" else keys):
            return axis, index
        case _:
            return None


def _triples(weights: Tensor, keep: Tensor) -> list[float]:
    """What is kept of [Q, K] as query, key, weight, query, key, weight ..."""
    triples = ((query, key, round(weights[query, key].item(), DECIMALS)) for query, key in keep.nonzero().tolist())
    return [value for triple in triples for value in triple]
