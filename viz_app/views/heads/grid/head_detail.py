"""The selected heads on the page Heads, large: as lines, maps or tables."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from core.analysis.alignment.first_head import head_links
from core.analysis.heads.mean_and_maximum import layer_map, with_combined
from core.analysis.recorded_call import Call
from core.analysis.tokens.words import readable
from core.analysis.weight_tables import lines_table, named_heads, with_columns
from core.capture import AttentionMap, Kind
from core.drawing.drawing_data import FED_ARROW
from viz_app.components.attention_clicks import Cutting
from viz_app.components.attention_lines import attention_lines, lines_payload
from viz_app.components.word_links import Highlight, Links, line_highlight
from viz_app.controls.downloads import downloads
from viz_app.controls.score_products import map_with_products, no_products
from viz_app.controls.tables import bar_column, show_table
from viz_app.controls.widgets import page_theme, setting_menu
from viz_app.drawing import head_names
from viz_app.drawing.display_text import isolated, plain
from viz_app.drawing.head_links_text import ABOUT_LINKS, links_text
from viz_app.language import joined, marked, tr
from viz_app.session import address, chosen_heads, python_code, readings
from viz_app.session.map_pass import reading_pass
from viz_app.session.readings import TokenView
from viz_app.session.state import kept, session_dict
from viz_app.views.heads.grid import selected_words
from viz_app.views.heads.grid.heads_view import HeadsView

if TYPE_CHECKING:  # importing pandas takes half a second: figures appear before tables
    import pandas as pd


MASSES = (1.0, 0.9, 0.75, 0.5)
STEP = address.STEP  # the decoding step, counted from 1; 0 for all
ABOUT_STEP = marked("""
The row that predicts one token. Move the slider with the arrow keys; 0 shows all steps.
The row depends on the tokens fed up to that step, and on none after.
""")
NOTHING_TO_COMBINE = marked("Select heads too: the mean or the maximum of the selected heads needs some.")


def mass_box(view: str, are_old: bool) -> float | None:
    """Select the share of each row's weight that is drawn as lines; None: all lines. See `are_values_old`."""
    names = {share: tr("All lines") if share == 1 else tr("{share} of mass", share=share) for share in MASSES}
    share = setting_menu(address.MASS, tr("Lines"), names, is_old=are_old, disabled=view != "Lines")
    return None if share == 1 else share


def step_box(reading: readings.Reading, kind: Kind, tokens: TokenView) -> int | None:
    """Select a decoding step, as a row of the maps; None for all steps, as in the encoder."""
    if kind == "encoder_self":
        return None

    def rows() -> tuple[tuple[str, ...], tuple[str, ...]]:
        attention = tokens.apply(reading.explain().maps[kind][0])
        return attention.query_tokens, attention.predicted_tokens or ()

    fed_tokens, predicted_tokens = kept("decoding_steps", (reading.identity, kind, tokens), rows)
    # the words that were selected when the step was: the later of the two selections is shown
    count, words, previous = len(predicted_tokens), readings.selected_words(reading), session_dict("words_of_step")
    if previous.get("words", ()) != words or (STEP.value or 0) > count:
        STEP.set(0)
    previous["words"] = words
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content", key="decoding-step"):
        step = STEP.draw(st.slider, tr("Decoding step"), 0, count, width=120, label_visibility="collapsed")
        text = tr("All decoding steps")
        if step:
            fed, predicted = (isolated(plain(readable(names[step - 1]))) for names in (fed_tokens, predicted_tokens))
            text = tr("{step}: {fed} {arrow} **{predicted}**", step=step, fed=fed, arrow=FED_ARROW, predicted=predicted)
        st.caption(text, width="content", help=tr(ABOUT_STEP))
    return step - 1 if step else None


def large(
    reading: readings.Reading,
    view: HeadsView,
    maps: Sequence[AttentionMap],
    heads: Sequence[head_names.LayerHead],
    cutting: Callable[[AttentionMap], Cutting] | None = None,
) -> None:
    """Draw the selected heads, as lines and tables layer by layer, as maps one by one; with `cutting` clicks cut."""
    if not heads:
        st.caption(tr("Click a head in the grid, or select one by name above."))
    by_layer = {attention.layer: attention for attention in maps}
    if any(layer not in by_layer for layer, _ in heads):
        st.caption(tr(NOTHING_TO_COMBINE))
        heads = [(layer, head) for layer, head in heads if layer in by_layer]
    groups = grouped(view, heads)
    theme, words = page_theme(), readings.selected_words(reading)

    def look() -> dict[str, Any]:
        return drawing_options(view, groups, view.highlight(reading), view.links(reading.explain()))

    options = kept("options_of_the_heads", (reading.identity, view, groups, words), look)

    def lines(attention: AttentionMap, group: Sequence[int], key: str) -> dict[str, Any]:
        drawn = reading.identity, view, list(heads), list(group), words, theme.name
        return kept(key, drawn, lambda: lines_payload(attention, group, theme, **options))

    for number, (layer, group) in enumerate(groups):
        attention, key = by_layer[layer], drawing_key(view, number)
        cuts = cutting(attention) if cutting and layer >= 0 else None
        if view.view == "Lines":
            attention_lines(lines(attention, group, key), attention, group, key=key, cutting=cuts)
        elif view.view == "Map":
            none = no_products(reading.model, view.weights.method, attention.layer >= 0)
            of = none or reading_pass(reading)
            map_with_products(attention, group[0], theme, of, key=key, tokens=view.tokens, cutting=cuts, **options)
        else:
            _table(view, attention, group)
        _export_row(reading, view, attention, group, key)
    _links(reading, view, heads)

    def lit() -> Highlight:
        return line_highlight(view.highlight(reading), view.links(reading.explain()))

    lit_words = kept("lit_words", (reading.identity, view, words), lit)
    selected_words.tables([(by_layer[layer], head) for layer, head in heads], lit_words, view.weights.name)


def grouped(view: HeadsView, heads: Sequence[head_names.LayerHead]) -> list[tuple[int, list[int]]]:
    """Return layer and heads of each drawing."""
    if view.view == "Map":
        return [(layer, [head]) for layer, head in heads]
    layers = dict.fromkeys(layer for layer, _ in heads)
    return [(layer, [head for other, head in heads if other == layer]) for layer in layers]


def drawing_key(view: HeadsView, number: int) -> str:
    """Return the key of the component of a drawing, lines or a map."""
    return f"{'map' if view.view == 'Map' else 'lines'}_{number}"


def drawing_options(
    view: HeadsView, groups: Sequence[tuple[int, list[int]]], place: Highlight, links: Links
) -> dict[str, Any]:
    """Return the options of `lines_payload` or `map_payload`."""
    options = {"name": view.weights.name, "links": links, "follows_clicks": len(groups) == 1 and not view.several}
    if view.view == "Map":
        return {**options, "place": place}
    if view.step is not None:
        place = {"query": place["query"], "key": []}  # the lines of the step, and no others
    return {**options, "place": place, "top_mass": view.top_mass}


def _links(reading: readings.Reading, view: HeadsView, heads: Sequence[head_names.LayerHead]) -> None:
    """Describe the links of a single head of cross-attention, by its raw weights."""
    if view.kind == "cross" and len(heads) == 1 and heads[0][0] >= 0 and view.weights.method == "attention":

        def text() -> str:
            return links_text(view.weights.name(*heads[0]), head_links(reading.explain().maps["cross"], *heads[0]))

        st.caption(kept("links_of_the_head", (reading.identity, heads[0]), text), help=tr(ABOUT_LINKS))


def _table(view: HeadsView, attention: AttentionMap, heads: Sequence[int]) -> None:
    table = shown_table(attention, heads, tr("hidden tokens"))
    table["head"] = [tr(view.weights.name(attention.layer, head)) for head in table["head"]]
    is_decoder = attention.predicted_tokens is not None
    show_table(
        table,
        height=420,
        columns={
            "head": st.column_config.TextColumn(tr("Head"), width=70 if attention.layer >= 0 else "small"),
            "query": tr("Fed") if is_decoder else tr("Token"),
            "predicted": tr("Predicts"),
            "key": tr("Attends to"),
            "weight": bar_column(tr("Weight"), 3),
        },
    )


def _export_row(
    reading: readings.Reading, view: HeadsView, attention: AttentionMap, heads: Sequence[int], key: str
) -> None:
    """Offer the drawing of heads of one layer, by the component of this key, as files."""
    names = [tr(view.weights.name(attention.layer, head)) for head in heads]
    title = tr("{kind} attention, {heads}", kind=tr(head_names.KIND_NAMES[view.kind]), heads=joined(names))
    table = partial(_table_call, reading, view, attention.layer, heads, chosen_heads.shown_heads(reading).heads)
    downloads(file_name(view, attention, heads), None if view.view == "Table" else key, table, title=title)


def _table_call(
    reading: readings.Reading,
    view: HeadsView,
    layer: int,
    heads: Sequence[int],
    selected: Sequence[head_names.LayerHead],
) -> Call:
    """Return the call of the table of heads of one layer, or of combinations of all selected heads."""
    weights, is_combined = view.weights, layer < 0
    maps = python_code.recorded_pass(reading).maps(view.kind, view.tokens, weights.method, weights.output)
    if is_combined:
        maps = Call("combined", with_combined, (maps, list(selected)))
    attention = Call("attention", layer_map, (maps, layer))
    table = Call("weights", lines_table, (attention, list(heads)))
    is_named = is_combined or weights.per_layer
    columns = weights.columns(reading.explain())
    table = Call("annotated" if is_named else "table", with_columns, (table, 1, columns))
    names = {head: weights.name(layer, head).lower() for head in heads} if is_combined else {}
    return Call("table", named_heads, (table, names)) if is_named else table


def file_name(view: HeadsView, attention: AttentionMap, heads: Sequence[int]) -> str:
    """Name the file of a drawing, without its suffix; layers and heads are counted from 0."""
    weights = view.weights
    if attention.layer < 0:
        numbers = "-and-".join(weights.name(attention.layer, head).lower().replace(" ", "-") for head in heads)
    else:
        numbers = f"layer{attention.layer}" + (
            "" if weights.per_layer else f"-head{'-'.join(str(head) for head in heads)}"
        )
    return f"{attention.kind}-{numbers}{weights.file_part}"


def shown_table(attention: AttentionMap, heads: Sequence[int], hidden: str) -> "pd.DataFrame":
    """Return the table without masked weights, and with those on tokens named as hidden at the end of each row."""
    import pandas as pd

    table = attention.to_frame(heads, readable)
    visible = np.tile(attention.visible.flatten().numpy(), len(heads))
    if attention.hidden is None:
        return table.loc[visible].reset_index(drop=True)
    keys = len(attention.key_tokens)
    ends = table.iloc[keys - 1 :: keys].assign(
        key_position=keys, key=hidden, weight=attention.hidden[list(heads)].flatten().numpy()
    )
    # an end has the index of its row's last key
    shown = pd.concat([table.loc[visible], ends]).sort_index(kind="stable")
    return shown.reset_index(drop=True)
