"""Previews of the page Heads, see `session/previews.py`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.analysis.heads.mean_and_maximum import with_combined
from core.capture import AttentionMap
from viz_app.components.attention_lines import lines_payload
from viz_app.components.attention_map import map_payload
from viz_app.components.head_grid import grid_payload
from viz_app.components.word_links import Highlight, Links
from viz_app.controls.widgets import page_theme
from viz_app.drawing.head_names import LayerHead
from viz_app.drawing.theme import Theme
from viz_app.session import chosen_heads, previews, readings
from viz_app.session.readings import Reading
from viz_app.views.heads.grid import head_detail, head_overview
from viz_app.views.heads.grid.head_overview import Arrangement
from viz_app.views.heads.grid.heads_view import HeadsView
from viz_app.views.heads.grid.scorecard_panel import Judge

PLACE = "heads"


@dataclass(frozen=True)
class _Preview:
    """The current view of the page, to be drawn for another sentence."""

    view: HeadsView
    heads: Callable[[Reading], Sequence[LayerHead]]  # returns the selected heads of a reading
    arrangement: Arrangement
    judge: Judge  # returns the cards by which the heads of a reading are sorted and labelled
    is_cutting: bool
    theme: Theme

    def data(self, other: Reading) -> dict[str, Any]:
        """Return the data of grid and large drawings, as by `head_overview.grid` and `head_detail.large`."""
        sort = "layer" if self.arrangement.sort == "pair" else self.arrangement.sort  # a new sentence has no selection
        arrangement = replace(self.arrangement, sort=sort, cards=self.judge(other), pair=None)
        heads = self.heads(other)
        maps = with_combined(other.maps(self.view.kind, self.view.tokens), heads)
        steps = maps[0].predicted_tokens or ()
        view = self.view if (self.view.step or 0) < len(steps) else replace(self.view, step=None)
        links = view.links(other.explain())
        place = view.highlight_of((), links)
        data: dict[str, Any] = {}
        if (order := arrangement.order()) != []:
            shown = head_overview.shown_maps(maps, order)
            options = head_overview.grid_options(view, arrangement, place, links)
            data[head_overview.grid_key(view)] = grid_payload(shown, self.theme, heads, **options)
        if not self.is_cutting and view.view != "Table":
            data |= self._large(view, maps, heads, place, links)
        return data

    def _large(
        self, view: HeadsView, maps: Sequence[AttentionMap], heads: Sequence[LayerHead], place: Highlight, links: Links
    ) -> dict[str, Any]:
        by_layer = {attention.layer: attention for attention in maps}
        groups = head_detail.grouped(view, [head for head in heads if head[0] in by_layer])
        options, data = head_detail.drawing_options(view, groups, place, links), dict[str, Any]()
        for number, (layer, group) in enumerate(groups):
            data[head_detail.drawing_key(view, number)] = (
                map_payload(by_layer[layer], group[0], self.theme, **options)
                if view.view == "Map"
                else lines_payload(by_layer[layer], group, self.theme, **options)
            )
        return data


def offer(
    reading: Reading,
    view: HeadsView,
    heads: Sequence[LayerHead],
    arrangement: Arrangement,
    judge: Judge,
    is_cutting: bool,
) -> None:
    """Offer the current view of the page for other sentences, unless its method takes longer than the raw weights.

    The judge returned the cards of the arrangement. While clicks cut weights, the large drawings are left out.
    """
    if view.weights.method != "attention":
        return
    view = replace(view, step=None) if readings.selected_words(reading) else view  # a new sentence clears both
    selected = chosen_heads.heads_elsewhere(view.kind, heads)
    previews.offer(PLACE, _Preview(view, selected, arrangement, judge, is_cutting, page_theme()).data)
