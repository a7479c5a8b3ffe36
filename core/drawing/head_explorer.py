"""All heads of an explanation as data for `head_explorer.js`."""

from typing import Any, Literal, get_args

from core.analysis.alignment.first_head import first_head
from core.drawing.drawing_data import KIND_NAMES, KIND_TEXTS, axis_words, encoded_weights, shown_weights
from core.results import Explanation
from core.trace import Head

View = Literal["Lines", "Map", "Table"]
VIEWS: tuple[View, ...] = get_args(View)


def kinds_data(explanation: Explanation) -> list[dict[str, Any]]:
    """Return the tokens of each kind, and its encoded weights by layer and head; see `KindData` in head_explorer.js.

    Raises:
        ValueError: the explanation has no attention maps.
    """
    if not explanation.maps:
        raise ValueError("there is no attention to draw: the explanation has no maps")
    return [
        {
            **axis_words(layers[0]),
            "kind": kind,
            "name": KIND_NAMES[kind],
            "text": KIND_TEXTS[kind],
            "weights": [[encoded_weights(head) for head in shown_weights(layer)] for layer in layers],
        }
        for kind, layers in explanation.maps.items()
    ]


def default_head(explanation: Explanation) -> Head:
    """Return `first_head` of cross-attention, or of the first kind if there is none."""
    return first_head(explanation.maps["cross" if "cross" in explanation.maps else next(iter(explanation.maps))])
