"""The heads of an explanation, one of them selected."""

from collections.abc import Sequence
from typing import Any, cast

import traitlets
from torch import Tensor

from core.capture import AttentionMap
from core.drawing.figure1 import figure1_data
from core.drawing.head_explorer import VIEWS, View, default_head, kinds_data
from core.export.html_page import framed_page
from core.model.config import TransformerConfig
from core.notebook.widget import NotebookWidget, widget_module
from core.results import Explanation
from core.trace import Head, Kind

SIDES = ("query", "key")


class HeadView(NotebookWidget):
    """All heads of an explanation as a grid, and the selected one large.

    The selection is in traits: assign them to change the drawing, or `observe` them.

    Attributes:
        head: the selected head, as a `Head` or a tuple (kind, layer, head), counted from 0.
        view: "Lines", "Map" or "Table".
        side: the axis of the selected words: "query" (rows) or "key" (columns).
        words: positions of the selected words on that axis, counted from 0, in order.

    Args:
        config: of the model of the explanation, for Figure 1 of the paper below the heads, in which each is a link.

    Raises:
        ValueError: on creation, if the explanation has no attention maps.
        TraitError: on assignment, if there is no such head, view, side or word.
    """

    _esm = widget_module(__file__)
    _data = traitlets.Dict().tag(sync=True)
    head = traitlets.Any().tag(sync=True)
    view = traitlets.Enum(VIEWS, "Lines").tag(sync=True)
    side = traitlets.Enum(SIDES, "query").tag(sync=True)
    words = traitlets.Any(()).tag(sync=True)

    def __init__(
        self,
        explanation: Explanation,
        head: tuple[Kind, int, int] | None = None,
        view: View = "Lines",
        config: TransformerConfig | None = None,
    ) -> None:
        self._explanation, self._config = explanation, config
        super().__init__(_data=self._data_of(explanation), head=head or default_head(explanation), view=view)

    @property
    def explanation(self) -> Explanation:
        """The explanation that is drawn; assigning another one clears the selected words."""
        return self._explanation

    @explanation.setter
    def explanation(self, explanation: Explanation) -> None:
        data = self._data_of(explanation)
        self.words = ()
        self._explanation = explanation
        with self.hold_sync():
            if not _has_head(explanation, self.head):
                self.head = default_head(explanation)
            self._data = data

    @property
    def map(self) -> AttentionMap:
        """Attention of the selected head's layer, with its tokens."""
        kind, layer, _ = self.head
        return self.explanation.maps[kind][layer]

    @property
    def weights(self) -> Tensor:
        """Attention weights of the selected head: [Q, K]."""
        return self.map.weights[self.head.head]

    @property
    def tokens(self) -> tuple[str, ...]:
        """Tokens of the selected words; in the decoder a row is named by the token that it predicts."""
        axis = self.map.row_tokens if self.side == "query" else self.map.key_tokens
        return tuple(axis[position] for position in self.words)

    def static_html(self) -> str:
        return framed_page(self.explanation, self._config, self.head, cast("View", self.view))

    @traitlets.validate("head")
    def _known_head(self, proposal: dict[str, Any]) -> Head:
        value = proposal["value"]
        if not _has_head(self.explanation, value):
            shapes = (
                f"{kind} with {len(layers)} layers of {layers[0].num_heads} heads"
                for kind, layers in self.explanation.maps.items()
            )
            raise traitlets.TraitError(
                f"there is no head {value!r}: expected (kind, layer, head), counted from 0, of {', '.join(shapes)}"
            )
        return Head(*value)

    @traitlets.validate("words")
    def _known_words(self, proposal: dict[str, Any]) -> tuple[int, ...]:
        value, count = proposal["value"], self._num_words()
        positions = cast("Sequence[Any]", value) if isinstance(value, list | tuple | range) else (value,)
        if not all(type(position) is int and 0 <= position < count for position in positions):
            raise traitlets.TraitError(
                f"there are no words {value!r} on the side {self.side!r}: expected positions from 0 to {count - 1}"
            )
        return tuple(sorted(set(positions)))

    @traitlets.observe("head", "side")
    def _drop_missing_words(self, _change: object) -> None:
        self.words = tuple(position for position in self.words if position < self._num_words())

    def _num_words(self) -> int:
        return self.map.weights.size(1 if self.side == "query" else 2)

    def _data_of(self, explanation: Explanation) -> dict[str, Any]:
        """Data of the drawing, see `Traits` in head_view.js."""
        figure1 = self._config and figure1_data(explanation, self._config)
        texts = {"source": explanation.source, "target": explanation.target}
        return {**texts, "kinds": kinds_data(explanation), "figure1": figure1}


def _has_head(explanation: Explanation, value: Any) -> bool:
    match value:
        case (str(kind), int(layer), int(head)) if kind in explanation.maps:
            layers = explanation.maps[kind]
            return 0 <= layer < len(layers) and 0 <= head < layers[layer].num_heads
        case _:
            return False
