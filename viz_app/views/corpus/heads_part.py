"""The heads of a corpus index by a behaviour, as parallel coordinates or by any two measures, and examples of one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.analysis.corpus.behaviours import BEHAVIOURS
from core.analysis.corpus.head_description import ranking_answer
from core.analysis.corpus.head_scores import (
    chosen_heads,
    head_points,
    points_table,
    ranking_table,
    scores_table,
    shown_cards,
)
from core.analysis.heads.head import Head
from core.analysis.heads.scorecards import ScoreCard
from core.analysis.heads.word_pair import PairHeads
from core.analysis.recorded_call import Call
from core.capture import KINDS, Kind
from viz_app.controls.charts import show_chart
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import bar_column, selectable_table
from viz_app.controls.widgets import page_theme, show_answer, text_button
from viz_app.drawing.display_text import decimal
from viz_app.language import capital, marked, tr
from viz_app.session.models import Model
from viz_app.session.state import Widget
from viz_app.views.corpus import selection
from viz_app.views.corpus.figures import corpus as figures
from viz_app.views.corpus.one_head import described_cards, one_head
from viz_app.views.corpus.opened_index import OpenedIndex, index_call
from viz_app.views.corpus.parallel_coordinates import parallel_coordinates

ABOUT_RANKING = marked("""
Scores are means over all tokens of the corpus, from 0 to 1, by the definitions of the score-cards of the page Heads.
"Named" is what a head does by the criteria listed there, under "More", whatever behaviour is selected here. A score
says where a head attends, not that it matters: see Switches.
""")
ABOUT_PARALLEL = marked("""
Each line is a head, each axis a score. Drag along an axis, or move its two ends, to keep the heads in this range;
a click on the axis, or Escape on one of its ends, shows all again. With the keyboard, Tab reaches the ends and arrow
keys move them. The list above has the same heads.
""")
ABOUT_SCATTER = marked("""
Each mark is a head, by two of its measures over the corpus; heads that lack one of them are left out. The measures are
those of the list of heads, from 0 to 1, the median strength of a head's rows, and its mean distance in tokens. Click a
mark to select its head.
""")


@dataclass(frozen=True)
class HeadSearch:
    """The heads to show, chosen by a behaviour, by kinds of attention and by layer."""

    behaviour: str
    kinds: Sequence[Kind] = KINDS
    layer: int | None = None


def heads_part(model: Model, opened: OpenedIndex, search: HeadSearch) -> None:
    """Draw the ranked heads, the examples of one, and the parallel coordinates."""
    index, ranges = opened.index, selection.selected_ranges()
    ranked = chosen_heads(index, search.behaviour, search.kinds, search.layer, ranges)
    above = st.container()  # of the answer, beside random weights, which are measured with the first head
    if not ranked:
        st.info(
            tr("No head has this score here. Widen the ranges below.")
            if ranges
            else tr("No head has this score here. Select another kind or layer.")
        )
    head = selection.selected_head(index) or (ranked[0][0].head if ranked else None)
    left, right = st.container(key="side-by-side").columns([5, 6], gap="large")
    with left:
        if ranked:
            ranking(opened, search, ranked)
    with right:
        if head is not None:
            one_head(model, opened, head, search.behaviour)
    if ranked:
        cards = described_cards(model, opened)
        described = [(cards[index.rows[card.head]], score) for card, score in ranked]
        with above:
            about = capital(f"{tr(BEHAVIOURS[search.behaviour].text)}.")
            show_answer(ranking_answer(described, search.behaviour), tr(ABOUT_RANKING), about)
    coordinates(opened, search, head)


def ranking(opened: OpenedIndex, search: HeadSearch, ranked: list[tuple[ScoreCard, float]]) -> None:
    """Draw the list of heads; a click on one selects it."""
    table = ranking_table(ranked)
    selectable_table(
        {"name": [figures.head_name(card.head) for card, _ in ranked], **table},
        "corpus-ranking",
        lambda row: selection.HEAD.set(ranked[row][0].head),
        height=430,
        columns={
            "name": st.column_config.TextColumn(tr("Head"), width=100),
            "score": bar_column(tr("Score"), 3, width=110),
            "does": st.column_config.TextColumn(tr("Named"), help=tr(ABOUT_RANKING)),
        },
    )
    arguments = index_call(opened), search.behaviour, search.kinds, search.layer, selection.selected_ranges()
    heads = Call("heads", chosen_heads, arguments).returning(ranked)
    downloads("corpus-heads", call=lambda: Call("ranking", ranking_table, (heads,)))


def coordinates(opened: OpenedIndex, search: HeadSearch, head: Head | None) -> None:
    """Draw all heads of these kinds as parallel coordinates."""
    ranges, index, theme = selection.selected_ranges(), opened.index, page_theme()
    cards = shown_cards(index, search.kinds, search.layer)
    drawing = figures.head_coordinates(index, cards, ranges, head, theme)
    within = sum(not line["faint"] for line in drawing["lines"])
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.markdown(
            tr("**All scores**: {shown} of {total} heads in the selected ranges", shown=within, total=len(cards))
            if ranges
            else tr("**All scores**: {shown} of {total} heads", shown=within, total=len(cards)),
            help=tr(ABOUT_PARALLEL),
            width="content",
        )
        if ranges:
            text_button(tr("All heads again"), selection.RANGE.set, [], key="clear_ranges")
    parallel_coordinates(
        drawing, selection.set_range, lambda number: selection.HEAD.set(cards[number].head), key="corpus-parallel"
    )
    if ranges:
        st.caption(
            "; ".join(
                tr(
                    "{axis} from {low} to {high}",
                    axis=tr(figures.AXIS_NAMES[key]),
                    low=decimal(low, 2),
                    high=decimal(high, 2),
                )
                for key, (low, high) in ranges.items()
            )
        )
    title = tr("Heads by their scores over a corpus")
    table = Call("table", scores_table, (index_call(opened), search.kinds, search.layer))
    downloads("corpus-scores", "corpus-parallel", table, title=title, of_sentence=False)


@dataclass(frozen=True)
class ScatterSearch:
    """The measures on both axes, and the heads to show, by kinds of attention and by layer."""

    x: str
    y: str
    kinds: Sequence[Kind] = KINDS
    layer: int | None = None


def scatter_part(model: Model, opened: OpenedIndex, search: ScatterSearch, found: PairHeads | None) -> None:
    """Draw all heads by two measures, and one of them; `found` are those that link the two selected words."""
    index, theme = opened.index, page_theme()
    pair: Mapping[Head, float] = dict(found.heads) if found else {}
    points = head_points(index, search.x, search.y, search.kinds, search.layer, pair)
    head = selection.selected_head(index) or (points[0][0] if points else None)
    left, right = st.container(key="side-by-side").columns([6, 6], gap="large")
    with left:
        total = len(shown_cards(index, search.kinds, search.layer))
        st.caption(
            tr("**{shown} of {total} heads** have both measures", shown=len(points), total=total),
            help=tr(ABOUT_SCATTER),
        )
        if not points:
            st.info(tr("No head has both measures here. Select another kind, layer or measure."))
        else:
            figure = figures.scatter_figure(points, search.x, search.y, theme, head)
            name = tr("All heads by two measures")
            key = f"corpus-scatter-{search}-{head}"  # another chart for another head: a second click deselects a mark

            def select() -> None:
                clicked = (Widget[Any](key).value or {"selection": {"points": []}})["selection"]["points"]
                if clicked and (one := figures.marker_head(points, clicked[0])):
                    selection.HEAD.set(one)

            show_chart(figure, key, name, on_select=select, selection_mode="points")
            arguments = index_call(opened), search.x, search.y, search.kinds, search.layer, dict(pair)
            recorded = Call("points", head_points, arguments).returning(points)
            downloads(
                "corpus-scatter", key, lambda: Call("table", points_table, (recorded,)), title=name, of_sentence=False
            )
    with right:
        if head is not None:
            one_head(model, opened, head)
