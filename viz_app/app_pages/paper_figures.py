"""Figures of the paper: its figures 3 to 5 redrawn from the current model, and whatever is chosen on the page Heads
in that style.
"""

from collections.abc import Hashable, Sequence
from functools import partial

import streamlit as st

from core.analysis.tokens.aggregation import mean_of_rows
from core.analysis.tokens.words import readable
from core.capture import AttentionMap
from viz_app.components import word_links
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import show_table
from viz_app.controls.toolbar import page_theme, prepared, token_boxes
from viz_app.features.paper_figures import figure_heads
from viz_app.features.paper_figures.figure_heads import FIGURES
from viz_app.figures import head_names
from viz_app.figures.appendix import LinePanel, appendix_figure, appendix_table, figure_width
from viz_app.figures.display_text import isolated, plain, sentence_case
from viz_app.session import chosen_heads, permalink, readings, word_selection
from viz_app.session.attributions import METHOD_NAMES, PER_LAYER, method_maps
from viz_app.session.gradient_output import output_text

SELECTION = "Selection on Heads"
PIXELS, MOST_PIXELS = 150, 950  # of an inch of the figure on the page, and of all of it
HOW_TO_READ = """
As in the appendix of "Attention Is All You Need": the words above look at the words below, a line is as opaque as its
weight, a colour is a head. Where only the lines of some words are drawn, each word below also bears a square for every
head, in the order of the names above.

Which head does what is settled by chance in training, so another model's heads have other numbers than the paper's.
Shown at first are those that look most sharply at one word other than themselves; choose any others. That a picture
looks like the paper's proves nothing by itself.
"""


@st.fragment
def page() -> None:
    """Everything below the sentence, which only the selection of the page Heads is about."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        figure = st.segmented_control(
            "Figure",
            (*FIGURES, SELECTION),
            default="Figure 3",
            required=True,
            key="figure",
            bind="query-params",
            label_visibility="collapsed",
        )
        words, hide = token_boxes()
    try:
        panels, name = selection(words, hide) if figure == SELECTION else paper_figure(figure, words, hide)
    except (ValueError, RuntimeError) as error:
        st.error(sentence_case(str(error)))
        return
    if not panels:
        return
    picture, table = appendix_figure(panels, "svg", page_theme()).decode(), appendix_table(panels)
    view = st.segmented_control(
        "View",
        ("Picture", "Table"),
        default="Picture",
        required=True,
        key="paper_view",
        bind="query-params",
        label_visibility="collapsed",
    )
    if view == "Picture":
        st.image(
            picture, width=min(MOST_PIXELS, round(PIXELS * figure_width(panels))), alt=f"{figure}: lines between words"
        )
        if told := strongest(panels):
            st.caption(
                f"Largest weight of each "
                f"head{', on average over the selected words' if len(panels[0].queries) > 1 else ''}: {plain(told)}."
            )
    else:
        show_table(table, height=480)
    downloads(name, partial(appendix_figure, panels), lambda: table)


def paper_figure(figure: str, words: bool, hide: bool) -> tuple[list[LinePanel], str]:
    """One of the paper's, its sentence, layer, word and heads to change."""
    about, model = FIGURES[figure], readings.model()
    st.markdown(f"**{figure}**: {about.about}.", help=HOW_TO_READ)
    number = figure.removeprefix("Figure ")
    sentence = st.text_input("Sentence of the figure", about.sentence, key=f"paper_text_{number}", bind="query-params")
    maps = figure_heads.encoder_maps(model, sentence or "")
    nearest, note = figure_heads.nearest_layer(len(maps))
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        layers = [head_names.layer_name(layer, 0) for layer in range(len(maps))]
        layer = layers.index(
            st.selectbox("Encoder layer", layers, nearest, key="paper_layer", bind="query-params", width=130)
        )
        attention = prepared(maps[layer], words, hide)
        query = word_box(attention, about.word, number) if about.word else None
        heads = heads_box(attention, query, about.num_heads, number, (sentence, layer, query, model.digest))
    if note and layer == nearest:
        st.caption(note)
    if not heads:
        st.caption("Choose a head, and its lines are drawn.")
        return [], ""
    return figure_heads.panels(figure, attention, heads, query), f"figure{number}-layer{layer}"


def word_box(attention: AttentionMap, usual: str, number: str) -> int:
    """Whose lines are drawn, as a position: at first the paper's word, where the sentence has it."""
    tokens = [readable(token) for token in attention.query_tokens]
    names = [token if token not in tokens[:place] else f"{token} ({place + 1})" for place, token in enumerate(tokens)]
    first = names.index(usual) if usual in names else 0
    return names.index(
        st.selectbox("Lines from", names, first, key=f"paper_word_{number}", bind="query-params", width=170)
    )


def heads_box(attention: AttentionMap, query: int | None, count: int | None, number: str, about: Hashable) -> list[int]:
    """Which heads, from 0: telling ones whenever something else of the figure was changed, and at first, unless the
    address names others.
    """
    names = [head_names.name_of(attention.layer, head) for head in range(attention.num_heads)]
    key = f"paper_heads_{number}"
    made_for: dict[str, Hashable] = st.session_state.setdefault("paper_heads_made_for", {})
    if made_for.get(key, about) != about or (key not in made_for and key not in st.query_params):
        permalink.preset(key, [names[head] for head in figure_heads.telling_heads(attention, query, count)])
    made_for[key] = about
    return [
        names.index(name) for name in st.multiselect("Heads", names, key=key, bind="query-params", select_all=False)
    ]


def selection(words: bool, hide: bool) -> tuple[list[LinePanel], str]:
    """What is chosen on the page Heads: a drawing for each layer, and only the lines of the words that are selected
    there, if any are.
    """
    reading = readings.reading()
    if reading is None:
        st.caption("The selection appears here as soon as there is a sentence to look at.")
        return [], ""
    chosen_heads.recall(reading)
    kind, method, heads = chosen_heads.looked_at(reading)
    output = chosen_heads.output_looked_at(reading)
    chosen_heads.keep(kind, method, heads, output)
    seen = "" if method == "attention" else f", {METHOD_NAMES[method].lower()}"
    seen += f" for {output_text(reading.explanation, output)}" if method == "gradient" else ""
    names = [head_names.layer_name(*head) if method in PER_LAYER else head_names.name_of(*head) for head in heads]
    st.markdown(
        f"**{head_names.KIND_NAMES[kind]} attention**, {', '.join(names)}{plain(seen)}: as chosen on the page Heads.",
        help=HOW_TO_READ,
    )
    maps = chosen_heads.with_combined(
        [prepared(attention, words, hide) for attention in method_maps(reading, method, output)[kind]], heads
    )
    rows = word_selection.look(reading, word_links.links(reading.explanation, kind, words, hide))["place"]["query"]
    panels = [
        LinePanel(attention, tuple(head for layer, head in heads if layer == attention.layer), tuple(rows))
        for attention in sorted(maps, key=lambda attention: attention.layer)
        if any(layer == attention.layer for layer, _ in heads)
    ]
    return panels, "-".join([kind, *names]).lower().replace(" ", "-")


def strongest(panels: Sequence[LinePanel]) -> str:
    """The largest weight of each head at the word whose lines are drawn, as a sentence."""
    return "; ".join(
        f"{head_names.name_of(panel.attention.layer, head)}: {isolated(readable(panel.attention.key_tokens[place]))} "
        f"{float(weights[place]):.2f}"
        for panel in panels
        if panel.queries
        for head in panel.heads
        for weights in (mean_of_rows(panel.attention, panel.queries)[head],)
        for place in (int(weights.argmax()),)
    )


page()
