"""The chosen heads, large: as lines, as maps or as a table, with the decoding step and the files to take along."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.analysis.tokens.words import readable
from core.capture import AttentionMap
from viz_app.components.attention_lines import Highlight, attention_lines, whose_lines
from viz_app.components.attention_map import attention_map
from viz_app.components.token_spans import FED_ARROW
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import show_table
from viz_app.controls.toolbar import Options, page_theme, prepared
from viz_app.features.heads import selected_words
from viz_app.figures import head_names
from viz_app.figures.display_text import isolated, plain
from viz_app.figures.export.head_pictures import Format, export_lines, export_map
from viz_app.figures.weight_tables import lines_table
from viz_app.session import readings, word_selection

MASSES = (1.0, 0.9, 0.75, 0.5)
STEP = "step"  # the widget that holds the decoding step, 0 for none
_STEP_WORDS = "step_words"  # the words that were selected when the step was chosen: whichever was chosen last is shown
ABOUT_STEP = """
The row from which one token is predicted, or with whole words one word. Arrow keys move the slider; 0 shows all steps.
The row has seen what was fed up to it, and nothing after.
"""
NO_HEADS_YET = "Choose heads too: there is nothing yet to take the mean or the maximum of."


def mass_box(view: str) -> float | None:
    """How much of each row's weight is drawn as lines; None: all that can be seen."""
    share = st.selectbox(
        "Lines",
        MASSES,
        format_func=lambda share: "All lines" if share == 1 else f"{share} of mass",
        key="mass",
        bind="query-params",
        label_visibility="collapsed",
        disabled=view != "Lines",
        width=135,
    )
    return None if share == 1 else share


def step_box(reading: readings.Reading, options: Options) -> int | None:
    """Which decoding step is looked at, as a row of the maps; None: all of them."""
    attention = prepared(reading.explanation.maps[options.kind][0], options.words, options.hide_special)
    if attention.predicted_tokens is None:
        return None
    count, words = len(attention.predicted_tokens), readings.selected_words(reading)
    if st.session_state.get(_STEP_WORDS, ()) != words or st.session_state.get(STEP, 0) > count:
        st.session_state[STEP] = 0
    st.session_state[_STEP_WORDS] = words
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="decoding-step"):
        step = st.slider(
            "Decoding step", 0, count, key=STEP, bind="query-params", width=200, label_visibility="collapsed"
        )
        told = "All decoding steps"
        if step:
            fed, predicted = (
                isolated(plain(readable(tokens[step - 1])))
                for tokens in (attention.query_tokens, attention.predicted_tokens)
            )
            told = f"Step {step} of {count}: fed {fed} {FED_ARROW} predicts **{predicted}**"
        st.caption(told, width="content", help=ABOUT_STEP)
    return step - 1 if step else None


def place(reading: readings.Reading, options: Options) -> Highlight:
    """The rows and columns that are looked at: of the words that are selected everywhere, but the row of a decoding
    step alone.
    """
    found = word_selection.place(word_selection.selected_names(reading), options.links(reading.explanation))
    return found if options.step is None else {"query": [options.step], "key": found["key"]}


def large(
    reading: readings.Reading, maps: Sequence[AttentionMap], heads: Sequence[head_names.LayerHead], options: Options
) -> None:
    """The chosen heads, with names and numbers: lines of all heads of one layer together, maps one by one."""
    if not heads:
        st.caption("Click a head in the grid, or choose one by name above.")
    by_layer = {attention.layer: attention for attention in maps}
    if any(layer not in by_layer for layer, _ in heads):
        st.caption(NO_HEADS_YET)
        heads = [(layer, head) for layer, head in heads if layer in by_layer]
    if options.view == "Map":
        groups = [(layer, [head]) for layer, head in heads]
    else:
        groups = [
            (layer, [head for other, head in heads if other == layer])
            for layer in dict.fromkeys(layer for layer, _ in heads)
        ]
    for number, (layer, chosen) in enumerate(groups):
        attention = by_layer[layer]
        if options.view == "Lines":
            _lines(reading, attention, chosen, options, number)
        elif options.view == "Map":
            _map(
                reading,
                attention,
                chosen[0],
                options,
                number,
                follows_clicks=len(groups) == 1 and not st.session_state["compare"],
            )
        else:
            _table(attention, chosen, options)
        _export_row(reading, attention, chosen, options)
    selected_words.tables(
        [(by_layer[layer], head) for layer, head in heads],
        whose_lines(place(reading, options), options.links(reading.explanation)),
        options,
    )


def _lines(
    reading: readings.Reading, attention: AttentionMap, heads: Sequence[int], options: Options, number: int
) -> None:
    """Heads of one layer as lines, the drawing of this number on the page; a click on a word selects it everywhere."""
    seen = place(reading, options)
    if options.step is not None:
        seen = {"query": seen["query"], "key": []}  # the lines of the step, and no others
    look: dict[str, Any] = {
        "top_mass": options.top_mass,
        "name": options.name,
        "place": seen,
        "links": options.links(reading.explanation),
    }
    attention_lines(attention, heads, page_theme(), key=f"lines_{number}", **look)


def _map(
    reading: readings.Reading,
    attention: AttentionMap,
    head: int,
    options: Options,
    number: int,
    *,
    follows_clicks: bool,
) -> None:
    """One head as a map, the selected words or the decoding step framed."""
    look: dict[str, Any] = {
        "place": place(reading, options),
        "name": options.name,
        "links": options.links(reading.explanation),
    }
    attention_map(attention, head, page_theme(), key=f"map_{number}", follows_clicks=follows_clicks, **look)


def _table(attention: AttentionMap, heads: Sequence[int], options: Options) -> None:
    """The weights of heads of one layer as a table."""
    table = lines_table(attention, heads)
    table["head"] = [options.name(attention.layer, head) for head in table["head"]]
    decoder = attention.predicted_tokens is not None
    show_table(
        table,
        height=420,
        column_order=["head", "query", "predicted", "key", "weight"],
        column_config={
            "head": st.column_config.TextColumn("Head", width=70 if attention.layer >= 0 else "small"),
            "query": st.column_config.TextColumn("Fed" if decoder else "Token"),
            "predicted": st.column_config.TextColumn("Predicts"),
            "key": st.column_config.TextColumn("Looks at"),
            "weight": st.column_config.ProgressColumn("Weight", format="%.3f", min_value=0, max_value=1),
        },
    )


def _export_row(reading: readings.Reading, attention: AttentionMap, heads: Sequence[int], options: Options) -> None:
    """The picture as files."""
    theme = page_theme()  # those who draw later are not on the page

    def drawn(file_format: Format) -> bytes:
        if options.view == "Map":
            return export_map(attention, heads[0], file_format, theme, name=options.name)
        return export_lines(attention, heads, file_format, theme, top_mass=options.top_mass, name=options.name)

    def table() -> pd.DataFrame:
        weights = options.noted(lines_table(attention, heads), reading, 1)
        if attention.layer < 0:  # many heads as one have a name instead of numbers
            weights["head"] = [options.name(attention.layer, head).lower() for head in weights["head"]]
            return weights.drop(columns=["layer"])
        return weights.drop(columns=["head"]) if options.per_layer else weights

    downloads(file_name(attention, heads, options), None if options.view == "Table" else drawn, table)


def file_name(attention: AttentionMap, heads: Sequence[int], options: Options) -> str:
    """What an exported picture is called, without its ending; layers and heads counted from 0."""
    if attention.layer < 0:
        numbered = "-and-".join(options.name(attention.layer, head).lower().replace(" ", "-") for head in heads)
    else:
        numbered = f"layer{attention.layer}" + (
            "" if options.per_layer else f"-head{'-'.join(str(head) for head in heads)}"
        )
    return f"{attention.kind}-{numbered}{options.file_part}"
