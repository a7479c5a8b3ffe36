"""All heads of a corpus index by any two measures; a click selects a head."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.analysis.corpus.head_scores import head_points, points_table, shown_cards
from core.analysis.heads.head import Head
from core.analysis.heads.word_pair import PairHeads
from core.analysis.recorded_call import Call
from core.capture import KINDS, Kind
from viz_app.controls.charts import show_chart
from viz_app.controls.downloads import downloads
from viz_app.controls.widgets import page_theme
from viz_app.language import marked, tr
from viz_app.session.models import Model
from viz_app.session.state import Widget
from viz_app.views.corpus import selection
from viz_app.views.corpus.figures import scatter as figures
from viz_app.views.corpus.one_head import one_head
from viz_app.views.corpus.opened_index import OpenedIndex, index_call

ABOUT = marked("""
Each mark is a head, by two of its measures over the corpus; heads that lack one of them are left out. The measures are
those of the list of heads, from 0 to 1, the median strength of a head's rows, and its mean distance in tokens. Click a
mark to select its head.
""")


@dataclass(frozen=True)
class ScatterSearch:
    """The measures on both axes, and the heads to show, by kinds of attention and by layer."""

    x: str
    y: str
    kinds: Sequence[Kind] = KINDS
    layer: int | None = None


def scatter_part(model: Model, opened: OpenedIndex, search: ScatterSearch, found: PairHeads | None) -> None:
    """Draw all heads by two measures, and one of them; `found` are those that link the two selected words."""
    index, theme = opened.index, page_theme()
    pair: Mapping[Head, float] = dict(found.heads) if found else {}
    points = head_points(index, search.x, search.y, search.kinds, search.layer, pair)
    head = selection.selected_head(index) or (points[0][0] if points else None)
    left, right = st.container(key="side-by-side").columns([6, 6], gap="large")
    with left:
        total = len(shown_cards(index, search.kinds, search.layer))
        st.caption(
            tr("**{shown} of {total} heads** have both measures", shown=len(points), total=total), help=tr(ABOUT)
        )
        if not points:
            st.info(tr("No head has both measures here. Select another kind, layer or measure."))
        else:
            figure = figures.scatter_figure(points, search.x, search.y, theme, head)
            name = tr("All heads by two measures")
            key = f"corpus-scatter-{search}-{head}"  # another chart for another head: a second click deselects a mark

            def select() -> None:
                clicked = (Widget[Any](key).value or {"selection": {"points": []}})["selection"]["points"]
                if clicked and (one := figures.marker_head(points, clicked[0])):
                    selection.HEAD.set(one)

            show_chart(figure, key, name, on_select=select, selection_mode="points")
            arguments = index_call(opened), search.x, search.y, search.kinds, search.layer, dict(pair)
            recorded = Call("points", head_points, arguments).returning(points)
            downloads(
                "corpus-scatter", key, lambda: Call("table", points_table, (recorded,)), title=name, of_sentence=False
            )
    with right:
        if head is not None:
            one_head(model, opened, head)
