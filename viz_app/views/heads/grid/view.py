"""Heads: all heads at a glance, and the selected ones large."""

from collections.abc import Sequence
from functools import partial
from typing import Literal, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.analysis.heads.mean_and_maximum import combinations
from core.analysis.heads.word_pair import PairHeads
from core.analysis.panels import PANELS
from core.capture import AttentionMap, Kind
from core.drawing.head_explorer import View
from core.trace import Head
from viz_app.components import word_links
from viz_app.controls.analysis_panel import panel
from viz_app.controls.pair_answer import pair_answer
from viz_app.controls.toolbar import kind_or_joint_box, token_boxes
from viz_app.controls.widgets import are_values_old, setting_segments
from viz_app.drawing import head_names
from viz_app.drawing.display_text import sentence_case
from viz_app.language import marked, tr
from viz_app.session import address, chosen_heads, previews, python_code, readings, selected_pair
from viz_app.session.address import VIEW
from viz_app.session.attributions import MethodChoice
from viz_app.session.chosen_heads import ShownHeads
from viz_app.session.fields import part
from viz_app.session.readings import TokenView
from viz_app.session.state import kept, refusals_shown, session_object
from viz_app.views.heads.cuts import cut_panel
from viz_app.views.heads.grid import (
    bertviz_view,
    head_detail,
    head_overview,
    heads_preview,
    joint_view,
    scorecard_panel,
    sentence_sample,
)
from viz_app.views.heads.grid.head_overview import Arrangement
from viz_app.views.heads.grid.heads_view import HeadsView, output_box

BERTVIZ: Literal["BertViz"] = "BertViz"
MENU = "more_of_heads"
HOW_TO_READ = marked("""
Every small picture is one **head**: a row for each query token, a column for each token it attends to. The darker a
cell (in the dark theme: the lighter), the larger the **weight**. The weights of a row sum to 1.

`L5 H3` is head 3 of layer 5, counted from 1; exported files count from 0. A decoder row has two names: the token that
was **fed** in, and the token that the model then **predicts**.

The last row combines heads: the **mean** of all, and the **maximum**, whose rows may sum to more than 1.

With "0.9 of mass", only the largest weights of each row that add up to this share are drawn as lines. Lines below 0.02
are never drawn; Map and Table show all weights.

Ctrl-, Cmd- or Shift-click selects several **words**; with the keyboard Shift+Enter does, on a touch screen a long touch
on the sentence above. Escape clears the selection. Tables below combine the selected rows or columns.

A large weight says that information *may* have flowed from there, not that it decided the outcome: attention is not an
explanation by itself.
""")


class _Toolbar(NamedTuple):
    """The row above the heads."""

    boxes: DeltaGenerator  # the place of further boxes
    more: DeltaGenerator  # the menu of those that are changed less often
    are_old: bool  # see `are_values_old`


@part
def overview_and_detail() -> None:
    """Draw the page below the sentence; a click in it runs only this part again."""
    reading = readings.reading()
    previews.offer(heads_preview.PLACE, None)
    if reading is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="heads-row"):
        kind = kind_or_joint_box(reading.explain().maps)
        boxes = st.container(horizontal=True, vertical_alignment="center", gap="small", width="content")
        more = st.popover(tr("More"), key=MENU, on_change="rerun")
    with more:
        tokens = token_boxes(are_old=(are_old := are_values_old(MENU, more.open)))
    if kind == chosen_heads.JOINT:
        joint_view.page(reading, tokens, boxes)
        return
    with boxes:
        view: View | Literal["BertViz"] = setting_segments(VIEW, tr("View"), hide_label=True)
    if view == BERTVIZ:
        bertviz_view.page(reading, kind, tokens, boxes, partial(heads_box, reading, kind, MethodChoice()))
        return
    heads_page(reading, kind, view, tokens, _Toolbar(boxes, more, are_old))


def heads_page(reading: readings.Reading, kind: Kind, view: View, tokens: TokenView, toolbar: _Toolbar) -> None:
    """Draw the heads of one kind of attention."""
    has_model = reading.model.explanation is None
    try:
        if has_model:
            sentence_sample.restore_sample(reading.model)
    except ValueError as error:
        st.error(sentence_case(str(error)))
    overview, detail = st.container(key="overview-and-detail").columns([5, 6], gap="medium")
    with detail:
        of_detail = st.container(horizontal=True, vertical_alignment="center", gap="small", key="detail-row")
        with of_detail:
            selected = st.container()
            step = head_detail.step_box(reading, kind, tokens)
    judge = scorecard_panel.judge(reading, kind)
    cards = judge(reading)
    linked = selected_pair.selected_pair(reading)
    pair = linked if linked is not None and linked.kind == kind else None
    with toolbar.more:
        sort, method = head_overview.grid_boxes(reading.methods, pair, toolbar.are_old)
    with toolbar.boxes:
        output = output_box(reading, step_tokens(reading, kind, tokens, step)) if method == "gradient" else None
    weights = MethodChoice(method, output)
    with toolbar.more:
        several = address.COMPARE.draw(
            st.toggle,
            tr("Select several"),
            is_old=toolbar.are_old,
            help=tr("Clicking a head adds it to the selected ones, or removes it."),
        )
        top_mass = head_detail.mass_box(view, toolbar.are_old)
        scorecard_panel.basis_box(reading, toolbar.are_old)
        labels = head_overview.label_box(cards, weights.per_layer, toolbar.are_old)
    with overview:
        name, text = tr(head_names.KIND_NAMES[kind]), tr(head_names.KIND_TEXTS[kind])
        st.markdown(tr("**{kind} attention**: {text}", kind=name, text=text), help=tr(HOW_TO_READ))
        with refusals_shown():
            maps_of_heads = reading.maps(kind, tokens, method, output)
        head_overview.about_method(reading, kind, weights)
        found = None if linked is None or weights.per_layer else selected_pair.linking_heads(reading, linked, weights)
    with selected:
        heads = heads_box(reading, kind, weights, maps_of_heads, found if pair is not None else None)
    with of_detail:
        can_cut = has_model and method == "attention" and view in ("Lines", "Map")
        is_cutting = can_cut and address.CUTTING.draw(st.toggle, tr("Cut"), help=tr(cut_panel.ABOUT))
        cuts = partial(cut_panel.cutting, reading, kind, tokens) if is_cutting else None
    shown = HeadsView(kind, view, tokens, weights, top_mass, step, several)
    of_heads = reading.identity, kind, tokens, weights, heads
    maps = [*maps_of_heads, *kept("combined_heads", of_heads, lambda: combinations(maps_of_heads, heads))]
    session_object(ShownHeads).remember(reading, kind, weights, heads, view)
    arrangement = Arrangement(sort, cards, labels, found if pair is not None else None)
    heads_preview.offer(reading, shown, heads, arrangement, judge, is_cutting=cuts is not None)
    with overview:
        if found is not None:
            pair_answer(reading, found, kind, weights)
        head_overview.grid(reading, shown, maps, heads, arrangement)
        chosen = next((head for head in heads if head[0] >= 0), (0, 0))
        for each in PANELS:
            panel(each, python_code.explanation(reading), Head(kind, *chosen), toolbar.more, toolbar.are_old)
    with detail:
        head_detail.large(reading, shown, maps, heads, cuts)
        if cuts:
            cut_panel.panel(reading, kind)
        scorecard_panel.cards(reading, shown, heads)


def step_tokens(reading: readings.Reading, kind: Kind, tokens: TokenView, step: int | None) -> range | None:
    """Return the positions of the tokens that are predicted at a decoding step."""
    if step is None:
        return None
    return word_links.positions(reading.explain(), kind, tokens.words, tokens.hide_special)["query"][step]


def heads_box(
    reading: readings.Reading,
    kind: Kind,
    weights: MethodChoice,
    maps: Sequence[AttentionMap],
    linking: PairHeads | None = None,
) -> list[head_names.LayerHead]:
    """Select heads by name, or layers for a method with one map per layer.

    At first it is the first that links the selected words, or a default head (`preset_heads`); of layers the last.
    """
    raw = reading.explain().maps[kind]
    widget = chosen_heads.heads_widget(kind, weights.per_layer)

    def default() -> list[str]:
        if linking is not None:
            return [weights.name(*linking.heads[0].head[1:])]
        return [weights.name(*((raw[-1].layer, 0) if weights.per_layer else chosen_heads.default_head(raw)))]

    chosen_heads.preset_heads(reading, widget, default)
    names = head_names.names(maps, head_names.layer_name if weights.per_layer else head_names.name_of)
    selected = widget.draw(
        st.multiselect,
        tr("Heads"),
        names,
        format_func=head_names.shown_name,
        label_visibility="collapsed",
        select_all=False,
        placeholder=tr("Select"),
        on_change=chosen_heads.keep_heads,
        args=(widget,),
    )
    return [head_names.parsed(name) for name in selected]


overview_and_detail()
