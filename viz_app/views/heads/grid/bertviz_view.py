"""The head view and the model view of BertViz on the page Heads."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.analysis.recorded_call import Call
from core.analysis.weight_tables import grid_table, lines_table
from core.capture import AttentionMap, Kind
from viz_app.controls.downloads import downloads
from viz_app.controls.widgets import page_theme, setting_segments
from viz_app.drawing import head_names
from viz_app.language import marked, tr, tr_lower
from viz_app.session import address, chosen_heads, python_code, readings
from viz_app.session.attributions import MethodChoice
from viz_app.session.chosen_heads import ShownHeads
from viz_app.session.readings import TokenView
from viz_app.session.state import session_object
from viz_app.views.heads.grid.figures.bertviz_views import (
    MAX_TOKENS,
    VIEWS,
    BertVizView,
    bertviz_page,
    page_height,
    too_long,
)

HEAD_VIEW, MODEL_VIEW = VIEWS
KEY = "bertviz"
HOW_TO_READ = {
    HEAD_VIEW: marked("""
        Lines lead from each token at the left to the tokens it attends to, at the right; each head of the layer has a
        colour. Hover a token to see only its lines. Click a coloured square to hide or show a head, double-click it to
        see only that head. With the keyboard: Tab moves between groups, arrow keys within one, Enter clicks,
        Shift+Enter double-clicks."""),
    MODEL_VIEW: marked("""
        Rows are layers, columns are heads. Click a small picture to enlarge it, click it again to close it; hover a
        token of the large one to see only its lines. With the keyboard: Tab moves to the small pictures, arrow keys
        between them, Enter clicks."""),
}
ABOUT = marked("""
 BertViz (Vig 2019, *A Multiscale Visualization of Attention in the Transformer Model*) draws the raw weights, rounded
 to three decimals. On its own it counts layers and heads from 0; here they are counted from 1.""")


def page(
    reading: readings.Reading,
    kind: Kind,
    tokens: TokenView,
    boxes: DeltaGenerator,
    heads_box: Callable[[Sequence[AttentionMap]], Sequence[head_names.LayerHead]],
) -> None:
    """Draw everything below the toolbar, which has a place for boxes; BertViz opens with the heads of `heads_box`."""
    if find_spec("bertviz") is None:
        st.info(
            tr("BertViz is not installed here: `pip install bertviz` does it. Lines and Map show the same weights.")
        )
        return
    chosen_heads.restore_selection(reading)  # of a link to the former page of BertViz
    maps = reading.maps(kind, tokens)
    with boxes:
        view: BertVizView = setting_segments(address.BERTVIZ_VIEW, tr("BertViz"), hide_label=True)
        heads = heads_box(maps)
    session_object(ShownHeads).remember(reading, kind, MethodChoice(), heads)
    rows = tr("a row is named by the word it predicts") if maps[0].predicted_tokens else tr(head_names.KIND_TEXTS[kind])
    title = tr(
        "**BertViz**, {view} of {kind} attention: {rows}",
        view=tr_lower(view),
        kind=tr_lower(head_names.KIND_NAMES[kind]),
        rows=rows,
    )
    st.markdown(title, help=tr(HOW_TO_READ[view]) + tr(ABOUT))
    if count := too_long(maps):
        st.info(
            tr(
                "BertViz draws up to {most} tokens on an axis, this sentence has {count}. Shorten it, or select Lines, "
                "Map or Table.",
                most=MAX_TOKENS,
                count=count,
            )
        )
        return
    layer = next((layer for layer, _ in heads if layer >= 0), 0)
    of_layer = [head for each, head in heads if each == layer] or list(range(maps[layer].num_heads))
    content = bertviz_page(maps, view, page_theme(), layer, of_layer)
    with st.container(key=KEY):
        st.iframe(content, height=page_height(maps, view), alt=tr("BertViz {view}", view=tr_lower(view)))
    _export_row(reading, tokens, maps, view, layer, of_layer, content)


def _export_row(
    reading: readings.Reading,
    tokens: TokenView,
    maps: Sequence[AttentionMap],
    view: BertVizView,
    layer: int,
    heads: list[int],
    content: str,
) -> None:
    """Offer the view as files: the BertViz page, and the same heads as pictures."""
    singles = [(each.layer, head) for each in maps for head in range(each.num_heads)]
    kind, name = maps[0].kind, f"bertviz-{view.lower().replace(' ', '-')}-{maps[0].kind}"

    def table() -> Call:
        recorded = python_code.recorded_pass(reading).maps(kind, tokens)
        if view == HEAD_VIEW:
            return Call("table", lines_table, (Call("attention", "[]", (recorded, layer)), heads))
        return Call("table", grid_table, (recorded, singles))

    downloads(
        name, KEY, table, title=tr("{kind} attention", kind=tr(head_names.KIND_NAMES[kind])), page=lambda: content
    )
