"""BertViz: its head view and model view of the current reading."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from core.capture import AttentionMap, Kind
from viz_app.controls import toolbar
from viz_app.controls.downloads import downloads
from viz_app.controls.widgets import page_theme, segments
from viz_app.figures import head_names
from viz_app.figures.bertviz_views import MAX_TOKENS, VIEWS, BertVizView, bertviz_page, page_height, too_long
from viz_app.figures.export.head_pictures import export_lines
from viz_app.figures.export.map_panels import export_panels
from viz_app.figures.theme import head_name
from viz_app.figures.weight_tables import grid_table, lines_table
from viz_app.session import chosen_heads, readings
from viz_app.session.attributions import Weights

HOW_TO_READ = {
    "Head view": """
        Lines lead from each token at the left to the tokens it attends to, at the right; each head of the layer has a
        colour. Hover a token to see only its lines. Click a coloured square to hide or show a head, double-click it to
        see only that head. With the keyboard: Tab moves between groups, arrow keys within one, Enter clicks,
        Shift+Enter double-clicks.""",
    "Model view": """
        Rows are layers, columns are heads. Click a small picture to enlarge it, click it again to close it; hover a
        token of the large one to see only its lines. With the keyboard: Tab moves to the small pictures, arrow keys
        between them, Enter clicks.""",
}
ABOUT = """
 BertViz (Vig 2019, *A Multiscale Visualization of Attention in the Transformer Model*) counts from 0: its layer 4,
 head 2 is L5 H3 elsewhere. Weights are rounded to three decimals. The page Heads shows the same as a table."""


def page(reading: readings.Reading) -> None:
    """Draw everything below the sentence."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        kind = toolbar.kind_box()
        view: BertVizView = segments("View", VIEWS, "Head view", "bertviz_view", hide_label=True)
        tokens = toolbar.token_boxes()
    maps = reading.maps(kind, tokens)
    rows = "a row is named by the word it predicts" if maps[0].predicted_tokens else head_names.KIND_TEXTS[kind]
    title = (
        f"**BertViz**, {view.lower()} of {head_names.KIND_NAMES[kind].lower()} attention: {rows}; layers and "
        f"heads are counted from 0"
    )
    st.markdown(title, help=HOW_TO_READ[view] + ABOUT)
    if count := too_long(maps):
        st.info(
            f"BertViz draws up to {MAX_TOKENS} tokens on an axis, this sentence has {count}. Shorten it, or use the "
            f"page Heads."
        )
        st.page_link("app_pages/heads.py", label="Heads", icon=":material/arrow_forward:")
        return
    layer, heads = layer_and_heads(reading, kind, maps)
    content = bertviz_page(maps, view, page_theme(), layer, heads)
    st.iframe(content, height=page_height(maps, view), alt=f"BertViz {view.lower()}")
    export_row(maps, view, layer, heads, content)


def export_row(maps: Sequence[AttentionMap], view: BertVizView, layer: int, heads: list[int], content: str) -> None:
    """Offer what is shown as files: the BertViz page, and the same heads as pictures."""
    theme = page_theme()
    if view == "Head view":
        draw, table = partial(export_lines, maps[layer], heads, theme=theme), lambda: lines_table(maps[layer], heads)
    else:
        panels = [
            [(head_name(each.layer, head), weights.float().numpy()) for head, weights in enumerate(each.weights)]
            for each in maps
        ]
        draw = partial(export_panels, panels, theme=theme)
        table = lambda: grid_table(maps, [(each.layer, head) for each in maps for head in range(each.num_heads)])  # noqa: E731
    downloads(f"bertviz-{view.lower().replace(' ', '-')}-{maps[0].kind}", draw, table, lambda: content)


def layer_and_heads(reading: readings.Reading, kind: Kind, maps: Sequence[AttentionMap]) -> tuple[int, list[int]]:
    """Return the layer of the first head selected on the page Heads, and its heads.

    If none is selected, a default head is returned.
    """
    chosen_heads.restore_selection(reading)
    selected = [head_names.parsed(name) for name in chosen_heads.heads_widget(kind).value or []]
    known = [(layer, head) for layer, head in selected if 0 <= layer < len(maps) and head < maps[layer].num_heads]
    heads = known or [chosen_heads.default_head(kind, reading.explain().maps[kind])]
    chosen_heads.write_selection(kind, Weights(), heads)
    return heads[0][0], [head for layer, head in heads if layer == heads[0][0]]


reading = readings.reading()
if reading is None:
    st.caption("Enter a sentence above to see it in BertViz.")
else:
    page(reading)
