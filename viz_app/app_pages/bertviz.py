"""BertViz: its head view and model view of what is being read, without a network."""

import re
from functools import partial

import streamlit as st

from core.capture import AttentionMap, Kind
from viz_app.controls import toolbar
from viz_app.controls.downloads import downloads
from viz_app.figures import head_names
from viz_app.figures.bertviz_views import MAX_TOKENS, VIEWS, BertVizView, bertviz_page, page_height, too_long
from viz_app.figures.export.head_pictures import export_lines
from viz_app.figures.export.map_panels import export_panels
from viz_app.figures.theme import head_name
from viz_app.figures.weight_tables import grid_table, lines_table
from viz_app.session import chosen_heads, readings

HOW_TO_READ = {
    "Head view": """
        Lines lead from each token at the left to what it looks at, at the right; each head of the layer has a
        colour. Hover a token to see its lines alone. Click a coloured square to hide or show a head, double-click
        it to see that head alone. By keyboard: Tab goes from group to group, arrow keys within one, Enter clicks,
        Shift+Enter double-clicks.""",
    "Model view": """
        A row a layer, a column a head. Click a small picture to see it large, click it again to put it away; hover
        a token of the large one to see its lines alone. By keyboard: Tab goes to the small pictures, arrow keys
        from one to the next, Enter clicks.""",
}
ABOUT = """
 BertViz (Vig 2019, *A Multiscale Visualization of Attention in the Transformer Model*) counts from 0: its layer 4,
 head 2 is L5 H3 elsewhere. Weights are rounded to three decimals. The page Heads shows the same as a table."""


def page(reading: readings.Reading) -> None:
    """Everything below the sentence."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        kind = toolbar.kind_box()
        view: BertVizView = st.segmented_control(
            "View",
            VIEWS,
            default="Head view",
            required=True,
            key="bertviz_view",
            bind="query-params",
            label_visibility="collapsed",
        )
        words, hide = toolbar.token_boxes()
    maps = [toolbar.prepared(each, words, hide) for each in reading.explanation.maps[kind]]
    rows = "a row is named by the word that it predicts" if maps[0].predicted_tokens else head_names.KIND_TEXTS[kind]
    title = (
        f"**BertViz**, {view.lower()} of {head_names.KIND_NAMES[kind].lower()} attention: {rows}; layers and "
        f"heads are counted from 0"
    )
    st.markdown(title, help=HOW_TO_READ[view] + ABOUT)
    if count := too_long(maps):
        st.info(
            f"BertViz draws up to {MAX_TOKENS} tokens on an axis, here are {count}. Shorten the sentence, or look at "
            f"it on the page Heads."
        )
        st.page_link("app_pages/heads.py", label="Heads", icon=":material/arrow_forward:")
        return
    layer, heads = layer_and_heads(reading, kind, maps)
    content = bertviz_page(maps, view, toolbar.page_theme(), layer, heads)
    st.iframe(content, height=page_height(maps, view), alt=f"BertViz {view.lower()}")
    take_along(maps, view, layer, heads, content)


def take_along(maps: list[AttentionMap], view: BertVizView, layer: int, heads: list[int], content: str) -> None:
    """What is shown as files: the page itself, and the same heads as vectors."""
    theme = toolbar.page_theme()
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


def layer_and_heads(reading: readings.Reading, kind: Kind, maps: list[AttentionMap]) -> tuple[int, list[int]]:
    """The layer of the first head that is chosen on the page Heads, and those chosen of that layer; else a telling
    one.
    """
    chosen_heads.recall(reading)
    names: list[str] = st.session_state.get(f"heads_{kind}") or []
    numbers = [re.fullmatch(r"L(\d+) H(\d+)", name) for name in names]
    heads = [(int(found[1]) - 1, int(found[2]) - 1) for found in numbers if found]
    known = [(layer, head) for layer, head in heads if layer < len(maps) and head < maps[layer].num_heads]
    first = known or [chosen_heads.telling_head(kind, reading.explanation.maps[kind])]
    chosen_heads.keep(kind, "attention", first)
    return first[0][0], [head for layer, head in first if layer == first[0][0]]


reading = readings.reading()
if reading is None:
    st.caption("BertViz's views appear here as soon as there is a sentence to look at.")
else:
    page(reading)
