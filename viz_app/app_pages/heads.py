"""Heads: all of them at a glance, and those that are chosen large."""

from dataclasses import replace

import streamlit as st

from viz_app.components import word_links
from viz_app.controls.gradient_output_box import output_box
from viz_app.controls.toolbar import JOINT, KindOrJoint, Options, View, shown_box, token_boxes
from viz_app.features.heads import head_detail, head_overview, joint_view, scorecard_panel, sentence_sample
from viz_app.figures import head_names
from viz_app.figures.display_text import sentence_case
from viz_app.session import chosen_heads, permalink, readings

HOW_TO_READ = """
Every small picture is one **head**: a row for each token that looks, a column for each token it may look at. The darker
a cell (on a dark page: the lighter), the more of its **weight** the row's token gives to the column's. The weights of a
row sum to 1.

`L5 H3` is head 3 of layer 5, counted from 1; exports count from 0. A decoder row has two names: the token that was
**fed** in, and the token that it went on to **predict**.

The last row shows many heads as one: the **mean** of all, and the **maximum**, whose rows may sum to more than 1.

Lines show "0.9 of mass" when, of what each word has to give, only the largest weights are drawn that together reach
this share. Lines fainter than 0.02 are never drawn; Map and Table leave nothing out.

Ctrl, Cmd or Shift with a click selects a **word** beside others, Shift+Enter does so by keyboard, a long touch on the
sentence above. Escape lets go of all. What several rows or columns have together stands in a table below.

A large weight says that information *may* have flowed from there, not that it decided the outcome: attention is not an
explanation by itself.
"""


@st.fragment
def overview_and_detail() -> None:
    """The page below the sentence; a click in here runs nothing else again."""
    reading = readings.reading()
    if reading is None:
        st.caption("The heads appear here as soon as there is a sentence to look at.")
        return
    kind, view, words, hide = choices()
    if kind == JOINT:
        joint_view.page(reading, words, hide)
    else:
        heads_page(reading, Options(kind, view, words, hide))


def choices() -> tuple[KindOrJoint, View, bool, bool]:
    """The choices above the pictures."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        kind = shown_box()
        views: tuple[View, ...] = ("Lines", "Map", "Table")
        place = st.container(width="content")
        words, hide = token_boxes()
        if kind == JOINT:
            return kind, "Map", words, hide
        with place:
            view: View = st.segmented_control(
                "View",
                views,
                default="Lines",
                required=True,
                key="view",
                bind="query-params",
                label_visibility="collapsed",
            )
    return kind, view, words, hide


def heads_page(reading: readings.Reading, options: Options) -> None:
    """One kind of attention."""
    try:
        sentence_sample.restore_sample(reading.model)
    except ValueError as error:
        st.error(sentence_case(str(error)))
    overview, detail = st.container(key="overview-and-detail").columns([5, 6], gap="medium")
    with detail:
        boxes = st.container(horizontal=True, gap="small")
        options = replace(options, step=head_detail.step_box(reading, options))
    found = scorecard_panel.judged(reading, options.kind)
    with overview:
        st.markdown(
            f"**{head_names.KIND_NAMES[options.kind]} attention**: {head_names.KIND_TEXTS[options.kind]}",
            help=HOW_TO_READ,
        )
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            by, method = head_overview.grid_boxes()
            options = replace(options, method=method)
            if method == "gradient":
                options = replace(options, output=output_box(reading, step_tokens(reading, options)))
            labels = head_overview.label_box(found, options.per_layer)
            scorecard_panel.basis_box(reading)
            st.toggle(
                "Compare",
                False,
                key="compare",
                bind="query-params",
                help="A click adds a head to those shown, or takes it away.",
            )
        try:
            maps = options.layers(reading)
        except (RuntimeError, ValueError) as error:
            st.error(sentence_case(str(error)))
            return
        head_overview.about_method(reading, options)
    key = choose_first(reading, options)
    with boxes:
        every = head_names.names(maps, options.name)
        chosen = st.multiselect(
            "Heads", every, key=key, bind="query-params", label_visibility="collapsed", select_all=False
        )
        options = replace(options, top_mass=head_detail.mass_box(options.view))
    heads = [head_names.parsed(name) for name in chosen]
    maps = chosen_heads.with_combined(maps, heads)
    chosen_heads.look_at(reading, options.kind, options.method, heads, options.view, options.output)
    place = head_detail.place(reading, options)
    with overview:
        head_overview.grid(
            reading, maps, heads, options, key, by, found, labels, place, options.links(reading.explanation)
        )
    with detail:
        head_detail.large(reading, maps, heads, options)
        scorecard_panel.cards(reading, heads, options)


def step_tokens(reading: readings.Reading, options: Options) -> range | None:
    """The tokens that are predicted at the decoding step which is looked at, if one is."""
    if options.step is None:
        return None
    return word_links.positions(reading.explanation, options.kind, options.words, options.hide_special)["query"][
        options.step
    ]


def choose_first(reading: readings.Reading, options: Options) -> str:
    """Choose a telling head where none has been chosen, or those chosen were another model's; of layers the last.

    Returns:
        Where the session keeps the names of the chosen heads.
    """
    raw = reading.explanation.maps[options.kind]
    key = chosen_heads.chosen_key(options.kind, options.per_layer)
    made_for: dict[str, str] = st.session_state.setdefault("heads_made_for", {})
    given = key in st.session_state or key in st.query_params
    if made_for.get(key, reading.model.digest) != reading.model.digest or (key not in made_for and not given):
        first = (raw[-1].layer, 0) if options.per_layer else chosen_heads.telling_head(options.kind, raw)
        permalink.preset(key, [options.name(*first)])
    made_for[key] = reading.model.digest
    return key


overview_and_detail()
