"""Heads: all of them at a glance, and those that are chosen large."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import streamlit as st

from core.analysis.scorecards import ScoreCard, score_cards
from core.analysis.words import merge_words, without_special_tokens
from core.capture import KINDS, AttentionMap, Kind
from viz_app import choice, state
from viz_app.cards import SORT_TEXTS, SORTS, Sort, notes, numbers, ordered, sentences
from viz_app.components.head_grid import head_grid
from viz_app.components.lines import attention_lines
from viz_app.figures.base import CHART_CONFIG
from viz_app.figures.export import FORMATS, Format, export_lines, export_map
from viz_app.figures.head_map import head_map
from viz_app.figures.tables import lines_table
from viz_app.figures.theme import Theme, head_name, theme_named
from viz_app.methods import METHOD_NAMES, METHOD_SOURCES, METHOD_TEXTS, PER_LAYER, Method, mean, method_maps, rank_correlations
from viz_app.text import plain, sentence_case

View = Literal["Lines", "Map", "Table"]

HOW_TO_READ = """
Every small picture is one **head**: a row for each token that looks, a column for each token it may look at. The darker a cell
(on a dark page: the lighter), the more of its **weight** the row's token gives to the column's. The weights of a row sum to 1.

`L5 H3` is head 3 of layer 5, counted from 1; exports count from 0. A decoder row has two names: the token that was
**fed** in, and the token that it went on to **predict**.

Lines show "0.9 of mass" when, of what each word has to give, only the largest weights are drawn that together reach this share. Lines
fainter than 0.02 are never drawn; Map and Table leave nothing out.

A large weight says that information *may* have flowed from there, not that it decided the outcome: attention is not an
explanation by itself.
"""

ABOUT_CARDS = """
On this sentence, all its tokens, special ones included. **Entropy**: 0 looks at one token, 1 at all alike. **Confidence**: the mean of
each row's largest weight, `</s>` left out. **Offset**: where the largest weight is, most often: -1 is the token before. **Sink**: the share
of weight on `<s>`, `</s>`, the first token and punctuation. One sentence is little to judge a head by.
"""

ABOUT_CORRELATION = """
Spearman's rank correlation (1904) over all pairs of tokens that may be looked at, special ones included: 1 where the method ranks them as the
raw weights do, 0 where the two have nothing to do with each other. It says whether they agree, not which of them is right.
"""
MASSES = (1.0, 0.9, 0.75, 0.5)


@dataclass(frozen=True)
class Options:
    """What the toolbar says."""

    kind: Kind
    view: View
    words: bool
    hide_special: bool
    compare: bool
    method: Method = "attention"
    top_mass: float | None = None

    @property
    def name(self) -> Callable[[int, int], str]:
        """What a head is called; some methods have but one map a layer."""
        return choice.layer_name if self.method in PER_LAYER else head_name


@st.fragment
def overview_and_detail() -> None:
    """The page below the sentence; a click in here runs nothing else again."""
    reading = state.reading()
    if reading is None:
        st.info("The heads appear here as soon as there is a sentence to look at.")
        return
    options = toolbar()
    overview, detail = st.container(key="overview-and-detail").columns([5, 6], gap="medium")
    with overview:
        st.markdown(f"**{choice.KIND_NAMES[options.kind]} attention**: {choice.KIND_TEXTS[options.kind]}", help=HOW_TO_READ)
        by, method = grid_boxes()
        options = replace(options, method=method)
        try:
            layers = method_maps(reading, method)[options.kind]
        except RuntimeError as error:
            st.error(sentence_case(str(error)))
            return
        about_method(reading, options)
    maps = [prepared(attention, options) for attention in layers]
    found = score_cards([{options.kind: reading.explanation.maps[options.kind]}])
    chosen_key = choose_first(reading, options)
    with detail, st.container(horizontal=True, gap="small"):
        every = choice.names(maps, options.name)
        chosen = st.multiselect("Heads", every, key=chosen_key, bind="query-params", label_visibility="collapsed", select_all=False)
        options = replace(options, top_mass=mass_box(options.view))
    heads = [choice.parsed(name) for name in chosen]
    with overview:
        grid(maps, heads, options, chosen_key, by, found)
    with detail:
        large(reading, maps, heads, options)
        cards(reading, found, heads, options)


def choose_first(reading: state.Reading, options: Options) -> str:
    """Choose a telling head where none has been chosen, or those chosen were another model's; of layers the last.

    Returns:
        Where the session keeps the names of the chosen heads.
    """
    per_layer, raw = options.method in PER_LAYER, reading.explanation.maps[options.kind]
    key = f"layers_{options.kind}" if per_layer else f"heads_{options.kind}"
    made_for: dict[str, str] = st.session_state.setdefault("heads_made_for", {})
    given = key in st.session_state or key in st.query_params
    if made_for.get(key, reading.model.digest) != reading.model.digest or (key not in made_for and not given):
        first = (raw[-1].layer, 0) if per_layer else choice.telling_head(options.kind, raw)
        st.session_state[key] = [options.name(*first)]
    made_for[key] = reading.model.digest
    return key


def toolbar() -> Options:
    """The choices above the pictures."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        kind: Kind = st.segmented_control(
            "Attention",
            KINDS,
            default="cross",
            required=True,
            format_func=choice.KIND_NAMES.__getitem__,
            key="kind",
            bind="query-params",
            label_visibility="collapsed",
        )
        views: tuple[View, ...] = ("Lines", "Map", "Table")
        view: View = st.segmented_control(
            "View", views, default="Lines", required=True, key="view", bind="query-params", label_visibility="collapsed"
        )
        words = st.toggle(
            "Whole words",
            True,
            key="words",
            bind="query-params",
            help="Sub-words of a word are merged: summed where they are looked at, averaged where they look.",
        )
        hide = st.toggle(
            "Hide special tokens",
            True,
            key="hide_special",
            bind="query-params",
            help="Leaves out <s> and </s>. What a row lacks of 1 is what it gave to them.",
        )
        compare = st.toggle("Compare", False, key="compare", bind="query-params", help="A click adds a head to those shown, or takes it away.")
    return Options(kind, view, words, hide, compare)


def mass_box(view: View) -> float | None:
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


def page_theme() -> Theme:
    """That of the page."""
    return theme_named(st.context.theme.type)


def prepared(attention: AttentionMap, options: Options) -> AttentionMap:
    """The map with the tokens that are to be seen."""
    attention = merge_words(attention) if options.words else attention
    return without_special_tokens(attention) if options.hide_special else attention


def grid_boxes() -> tuple[Sort, Method]:
    """What the grid shows, and what it is sorted by."""
    with st.container(horizontal=True, gap="small"):
        method: Method = st.selectbox(
            "Weights", METHOD_NAMES, format_func=METHOD_NAMES.__getitem__, key="weights", bind="query-params", label_visibility="collapsed", width=205
        )
        per_layer = method in PER_LAYER
        by: Sort = st.selectbox(
            "Sorted",
            SORTS,
            format_func=SORTS.__getitem__,
            key="sort",
            bind="query-params",
            label_visibility="collapsed",
            disabled=per_layer,
            width=165,
        )
    return "layer" if per_layer else by, method


def about_method(reading: state.Reading, options: Options) -> None:
    """What the method is, and how far it ranks tokens as the raw weights do."""
    method = options.method
    if method == "attention":
        return
    correlation = mean(value for layer in rank_correlations(reading, method, options.kind).values() for value in layer)
    st.caption(
        f"**{METHOD_NAMES[method]}**: {METHOD_TEXTS[method]}. Rank correlation with the raw weights: {correlation:.2f} over all heads.",
        help=f"{METHOD_SOURCES[method]}\n\n{ABOUT_CORRELATION}",
    )


def grid(
    maps: Sequence[AttentionMap],
    heads: Sequence[choice.LayerHead],
    options: Options,
    chosen_key: str,
    by: Sort,
    found: Sequence[ScoreCard],
) -> None:
    """All heads, to click on."""
    if by != "layer":
        unlabelled = by == "label" and not any(card.labels for card in found)
        st.caption("No head stands out on this sentence: the most confident ones come first." if unlabelled else SORT_TEXTS[by])

    def click(head: choice.LayerHead) -> None:
        st.session_state[chosen_key] = choice.toggled(st.session_state[chosen_key], options.name(*head), st.session_state["compare"])

    said = None if options.method in PER_LAYER else notes(found, by)
    look = {"order": ordered(found, by), "notes": said, "row_height": 58 if by == "layer" else 74, "name": options.name}
    head_grid(maps, page_theme(), click, selected=heads, key=f"grid_{chosen_key}", **look)


def large(reading: state.Reading, maps: Sequence[AttentionMap], heads: Sequence[choice.LayerHead], options: Options) -> None:
    """The chosen heads, with names and numbers: lines of all heads of one layer together, maps one by one."""
    if not heads:
        st.caption("Click a head in the grid, or choose one by name above.")
    by_layer = {attention.layer: attention for attention in maps}
    if options.view == "Map":
        groups = [(layer, [head]) for layer, head in heads]
    else:
        groups = [(layer, [head for other, head in heads if other == layer]) for layer in dict.fromkeys(layer for layer, _ in heads)]
    for place, (layer, chosen) in enumerate(groups):
        attention = by_layer[layer]
        if options.view == "Lines":
            lines(reading, attention, chosen, options, place)
        elif options.view == "Map":
            one_map(reading, attention, chosen[0], options)
        else:
            weights_table(attention, chosen, options)
        export_row(attention, chosen, options)


def lines(reading: state.Reading, attention: AttentionMap, heads: Sequence[int], options: Options, place: int) -> None:
    """Heads of one layer as lines, the drawing at this place of the page; a click on a word selects it everywhere."""
    how = (reading.explanation, options.kind, options.words, options.hide_special)
    query, key = choice.place(state.selected_word(reading), *how)
    selected = ("query", query) if query is not None else ("key", key) if key is not None else None
    clicked = attention_lines(attention, heads, page_theme(), top_mass=options.top_mass, name=options.name, selected=selected, key=f"lines_{place}")
    word = clicked and choice.word_at(*clicked, *how)
    if word:
        state.select_word(reading, word)
        st.rerun()


def one_map(reading: state.Reading, attention: AttentionMap, head: int, options: Options) -> None:
    """One head as a heatmap, the selected word framed."""
    query, key = choice.place(state.selected_word(reading), reading.explanation, options.kind, options.words, options.hide_special)
    figure = head_map(attention, head, page_theme(), query=query, key=key)
    name = options.name(attention.layer, head)
    alt = f"{METHOD_NAMES[options.method]} of {name}"
    st.plotly_chart(figure, theme=None, config=CHART_CONFIG, key=f"map_{options.kind}_{name}", alt=alt)


def weights_table(attention: AttentionMap, heads: Sequence[int], options: Options) -> None:
    """The weights of heads of one layer as a table."""
    table = lines_table(attention, heads)
    table["head"] = [options.name(attention.layer, head) for head in table["head"]]
    decoder = attention.predicted_tokens is not None
    st.dataframe(
        table,
        hide_index=True,
        height=420,
        column_order=["head", "query", "predicted", "key", "weight"],
        column_config={
            "head": st.column_config.TextColumn("Head", width=70),
            "query": st.column_config.TextColumn("Fed" if decoder else "Token"),
            "predicted": st.column_config.TextColumn("Predicts"),
            "key": st.column_config.TextColumn("Looks at"),
            "weight": st.column_config.ProgressColumn("Weight", format="%.3f", min_value=0, max_value=1),
        },
    )


def export_row(attention: AttentionMap, heads: Sequence[int], options: Options) -> None:
    """The picture as files, each drawn when it is asked for."""

    def drawn(file_format: Format) -> bytes:
        if options.view == "Map":
            return export_map(attention, heads[0], file_format, page_theme(), name=options.name)
        return export_lines(attention, heads, file_format, page_theme(), top_mass=options.top_mass, name=options.name)

    def table() -> bytes:
        weights = lines_table(attention, heads)
        weights.insert(1, "method", options.method)
        return weights.drop(columns=["head"] if options.method in PER_LAYER else []).to_csv(index=False).encode()

    numbered = "" if options.method in PER_LAYER else f"-head{'-'.join(str(head) for head in heads)}"
    name = f"{attention.kind}-layer{attention.layer}{numbered}{'' if options.method == 'attention' else f'-{options.method}'}"
    with st.container(horizontal=True, gap="small", key=f"export_{options.view}_{name}", vertical_alignment="center"):
        st.caption("Export", width="content")
        for file_format in FORMATS if options.view != "Table" else ():
            file = f"{name}.{file_format}"
            st.download_button(file_format.upper(), partial(drawn, file_format), file, on_click="ignore", type="tertiary", key=file)
        st.download_button("CSV", table, f"{name}.csv", on_click="ignore", type="tertiary", key=f"{name}.csv")


def cards(reading: state.Reading, found: Sequence[ScoreCard], heads: Sequence[choice.LayerHead], options: Options) -> None:
    """What the chosen heads do, in numbers and in words; beside another method, how it ranks tokens."""
    raw = options.method == "attention"
    correlations = {} if raw else rank_correlations(reading, options.method, options.kind)
    by_head = {(card.head.layer, card.head.head): card for card in found}
    for layer, head in heads:
        name = options.name(layer, head)
        if not raw:
            values = correlations[layer] if options.method in PER_LAYER else correlations[layer][head : head + 1]
            spread = f"{min(values):.2f} to {max(values):.2f} with each head" if len(values) > 1 else f"{mean(values):.2f}"
            st.caption(f"**{name}**: rank correlation with the raw weights {spread}.", help=ABOUT_CORRELATION)
        if options.method not in PER_LAYER:
            card = by_head[layer, head]
            st.caption(f"**{name}**{'' if raw else ', raw weights'}: {numbers(card)}. {plain(sentences(card))}", help=ABOUT_CARDS)


overview_and_detail()
