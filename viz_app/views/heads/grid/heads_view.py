"""The settings of the page Heads, as chosen in its widgets."""

from collections.abc import Sequence
from dataclasses import dataclass

from core import Explanation
from core.capture import Kind
from core.drawing.head_explorer import View
from viz_app.components.highlight import Axis, Highlight, Links
from viz_app.session import word_selection
from viz_app.session.attributions import MethodChoice
from viz_app.session.readings import Reading, TokenView


@dataclass(frozen=True)
class HeadsView:
    """The settings of the page Heads, besides the selected heads.

    Attributes:
        top_mass: share of each row's weight that is drawn as lines; None: all lines.
        step: the row of the selected decoding step, if one is selected.
        several: whether a click on a head adds it to the selected ones.
    """

    kind: Kind
    view: View
    tokens: TokenView
    weights: MethodChoice
    top_mass: float | None = None
    step: int | None = None
    several: bool = False

    def links(self, explanation: Explanation) -> dict[Axis, list[str]]:
        """Name the word that each row and column belongs to."""
        return word_selection.links(explanation, self.kind, self.tokens)

    def highlight(self, reading: Reading) -> Highlight:
        """Return the rows and columns of the selected words; if a decoding step is selected, it is the only row."""
        return self.highlight_of(word_selection.selected_names(reading), self.links(reading.explain()))

    def highlight_of(self, names: Sequence[str], links: Links) -> Highlight:
        """Return the rows and columns of words with these names, likewise."""
        highlight = word_selection.highlighted(names, links)
        return highlight if self.step is None else {"query": [self.step], "key": highlight["key"]}
