"""The part of the page Heads with the mean distance over which each head attends."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from core.analysis.heads.attention_distance import DistanceOptions, HeadDistances, head_distances
from core.analysis.heads.head import Head
from core.analysis.recorded_call import Call
from core.capture import Kind
from viz_app.controls.charts import show_chart
from viz_app.controls.downloads import downloads
from viz_app.controls.widgets import page_theme
from viz_app.drawing.export.plotly_chart import export_chart
from viz_app.drawing.head_names import LayerHead
from viz_app.language import marked, tr
from viz_app.session import python_code
from viz_app.session.address import DISTANCE_SPECIAL, DISTANCES
from viz_app.session.chosen_heads import select_head
from viz_app.session.readings import Reading
from viz_app.session.state import Widget
from viz_app.views.heads.grid.figures.attention_distances import distances_figure, marker_head

ABOUT = marked("""
The distances between the tokens that a head connects, weighted by its attention (Vig & Belinkov 2019): 0 if it attends
to the same position, 1 if to a neighbour. In cross-attention, whose tokens have no common positions, it is the distance
from the diagonal of the map, in source tokens.

Without special tokens, only the weight between tokens of the text counts: a head with nothing to do attends to `</s>`,
however far it is. Each head's share of weight that counts is in its hover text and in the table. Click a head to select
it.
""")


def call(reading: Reading, special: bool) -> Call:
    """Return the call that measures all heads."""
    return Call("result", head_distances, (python_code.explanation(reading), DistanceOptions(special=special)))


def distances(reading: Reading, kind: Kind, selected: Sequence[LayerHead]) -> None:
    """Draw the distances of the heads of one kind, if the visitor wants them."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        is_shown = DISTANCES.draw(st.toggle, tr("Mean distance"), help=tr(ABOUT))
        if not is_shown:
            return
        special = DISTANCE_SPECIAL.draw(st.toggle, tr("with special tokens"))
    recorded = call(reading, special)
    measured: HeadDistances = recorded.run()
    of_kind = [each for each in measured.heads if each.head.kind == kind]
    theme, name = page_theme(), tr("Mean attention distance of each head, by layer")
    figure = distances_figure(of_kind, theme, [Head(kind, *place) for place in selected])
    key = f"distances-{kind}-{selected}"  # another chart for another head, as a second click on a marker deselects it

    def select() -> None:
        points = (Widget[Any](key).value or {"selection": {"points": []}})["selection"]["points"]
        if points and (head := marker_head(of_kind, points[0])):
            select_head(head)

    show_chart(figure, key, name, on_select=select, selection_mode="points")
    downloads(
        "attention-distance",
        partial(export_chart, figure, theme=theme),
        title=name,
        call=lambda: recorded.returning(measured).then("table"),
    )
