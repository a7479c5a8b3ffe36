"""Heads as lines between two columns of words, as in the paper's appendix, but live: hover a word and read its
numbers.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from torch import Tensor

from core.analysis.tokens.aggregation import mean_of_rows, sum_of_columns
from core.capture import AttentionMap, Kind
from viz_app.components.component import component_beside
from viz_app.components.token_spans import FED_ARROW, label_spans, row_spans
from viz_app.figures.line_weights import MIN_WEIGHT, drawn
from viz_app.figures.theme import Theme, head_name

Axis = Literal["query", "key"]
AXES: tuple[Axis, Axis] = ("query", "key")
Highlight = Mapping[Axis, Sequence[int]]  # rows and columns
Links = Mapping[Axis, Sequence[str]]  # the words that rows and columns belong to, see `choice.links`
NO_HIGHLIGHT: Highlight = {"query": (), "key": ()}

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
    place: Highlight = NO_HIGHLIGHT,
    links: Links | None = None,
    height: int = 560,
    name: Callable[[int, int], str] = head_name,
) -> dict[str, Any]:
    """What the browser needs to draw some heads of one layer as lines.

    Args:
        heads: counted from 0.
        min_weight, top_mass: which lines are left out, see `drawn`.
        place: the rows and columns whose lines alone are shown while the pointer is elsewhere; of a word that has both,
            the row.
        links: the words that rows and columns belong to: with them, a word can be selected by a click, and what is
            pointed at lights up in the other drawings of the page too, and the other way round.
        height: in pixels; more words scroll.
        name: what to call a head, from its layer and its number.

    Returns:
        `queries` and `keys`: a title and, for each word, its spans; `heads`: name, the same beside a number, where the
        layer is known, colour, dashes, the lines as a flat list query, key, weight, query, key, weight ... and, where
        several rows or columns are selected, what they weigh `together`; `lit`: rows and columns; `selected`: those
        whose lines are shown, an axis and an index each.

    Raises:
        ValueError: the layer has no such head; `min_weight` or `top_mass` is not between 0 and 1.
    """
    for head in heads:
        if not 0 <= head < attention.num_heads:
            raise ValueError(
                f"layer {attention.layer + 1} has {attention.num_heads} heads, there is no head {head + 1}"
            )
    query_title, key_title = _TITLES[attention.kind]
    predicted = attention.predicted_tokens or (None,) * len(attention.query_tokens)
    rows = [row_spans(fed, token) for fed, token in zip(attention.query_tokens, predicted, strict=True)]
    selected = whose_lines(place, links)
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
                "together": _together(attention, head, selected),
            }
            for head in heads
        ],
        "lit": {axis: list(place[axis]) for axis in AXES},
        "selected": [(axis, index) for axis, indices in selected.items() for index in indices],
        "links": links,
        "height": height,
    }


def attention_lines(
    attention: AttentionMap, heads: Sequence[int], theme: Theme, *, key: str = "attention_lines", **options: Any
) -> None:
    """Draw the lines on the page. A click on a word selects it in the sentence above, see `sentence_bar`.

    Args:
        key: of the component, as for any widget.
        options: those of `lines_payload`.
    """
    _component(data=lines_payload(attention, heads, theme, **options), key=key)


def whose_lines(place: Highlight, links: Links | None = None) -> dict[Axis, list[int]]:
    """Of selected rows and columns those whose lines are drawn: the columns of words that have a row too are left
    out.
    """
    rows = {links["query"][row] for row in place["query"]} if links else set[str]()
    keys = [key for key in place["key"] if not links or links["key"][key] not in rows]
    return {"query": list(place["query"]), "key": keys}


def _together(attention: AttentionMap, head: int, selected: Highlight) -> dict[Axis, list[float] | None]:
    """What several rows give to each key on average, and what each query gives to several columns; None where less
    than two are selected.
    """
    rows, columns = selected["query"], selected["key"]
    return {
        "query": _rounded(mean_of_rows(attention, rows)[head]) if len(rows) > 1 else None,
        "key": _rounded(sum_of_columns(attention, columns)[head]) if len(columns) > 1 else None,
    }


def _rounded(weights: Tensor) -> list[float]:
    return [round(weight, DECIMALS) for weight in weights.tolist()]


def _triples(weights: Tensor, keep: Tensor) -> list[float]:
    """What is kept of [Q, K] as query, key, weight, query, key, weight ..."""
    triples = ((query, key, round(weights[query, key].item(), DECIMALS)) for query, key in keep.nonzero().tolist())
    return [value for triple in triples for value in triple]
