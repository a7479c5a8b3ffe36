"""The heads of a corpus index: a ranking by a behaviour, parallel coordinates, and examples of one head."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from core.analysis.corpus.behaviours import BEHAVIOURS
from core.analysis.corpus.index import HeadExample
from core.analysis.corpus.recomputation import head_strength
from core.analysis.heads.head import Head
from core.analysis.heads.scorecards import ScoreCard
from core.analysis.recorded_call import Call
from core.capture import KINDS, Kind
from viz_app.controls.check_badge import check_badge
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import decimals, selectable_table
from viz_app.controls.widgets import page_theme
from viz_app.drawing.display_text import decimal, plain, sentence_case
from viz_app.drawing.scorecard_text import head_does, sentences
from viz_app.language import capital, marked, tr
from viz_app.session import python_code
from viz_app.session.models import MODEL_HASH, Model
from viz_app.views.corpus import selection
from viz_app.views.corpus.figures import corpus as figures
from viz_app.views.corpus.figures.corpus_examples import examples_table, export_examples, head_examples
from viz_app.views.corpus.figures.parallel_coordinates import export_parallel
from viz_app.views.corpus.opened_index import OpenedIndex, index_call
from viz_app.views.corpus.parallel_coordinates import parallel_coordinates

ABOUT_RANKING = marked("""
Scores are means over all tokens of the corpus, from 0 to 1, by the definitions of the score-cards of the page Heads.
"Does" names what a head does by the criteria listed there, at "What heads do". A score says where a head attends, not
that it matters: see Switches.
""")
ABOUT_EXAMPLES = marked("""
The **strength** is the norm of what the head writes for one token in one row, ||a f(x)|| (Kobayashi et al. 2020): a
large weight on a token with a short vector writes little. A sentence gives at most one example. The **frame** is where
the head attends from, in the decoder the token that was fed or, in cross-attention, the token that is predicted; the
**filled** token is what it attends to.

The ten strongest of thousands show the extreme, not the usual case.
""")
ABOUT_PARALLEL = marked("""
Each line is a head, each axis a score. Drag along an axis, or move its two ends, to keep the heads in this range;
a click on the axis, or Escape on one of its ends, shows all again. With the keyboard, Tab reaches the ends and arrow
keys move them. The list above has the same heads.
""")
ABOUT_BADGE = marked(
    "The strongest example shown is computed again by the model, in a pass of its own sentence alone and by the code "
    "of the page Heads. It must agree with the index to one part in a thousand."
)
TOLERANCE = 1e-3


@dataclass(frozen=True)
class HeadSearch:
    """The heads to show, chosen by a behaviour, by kinds of attention and by layer, and the place of their examples."""

    behaviour: str
    kinds: Sequence[Kind] = KINDS
    layer: int | None = None
    place: str = "any"


def heads_part(model: Model, opened: OpenedIndex, search: HeadSearch) -> None:
    """Draw the ranked heads, the examples of one, and the parallel coordinates."""
    chosen, index = selection.selected(), opened.index
    ranked = figures.chosen_heads(index, search.behaviour, search.kinds, search.layer, chosen.ranges)
    behaviour = BEHAVIOURS[search.behaviour]
    name = capital(tr(behaviour.name))
    st.caption(f"**{name}**: {plain(tr(behaviour.text))}.", help=tr(ABOUT_RANKING))
    if not ranked:
        st.info(
            tr("No head has this score here. Widen the ranges below.")
            if chosen.ranges
            else tr("No head has this score here. Select another kind or layer.")
        )
    head = selection.known_head(index, chosen.head) or (ranked[0][0].head if ranked else None)
    left, right = st.container(key="side-by-side").columns([5, 6], gap="large")
    with left:
        if ranked:
            ranking(opened, search, ranked)
    with right:
        if head is not None:
            one_head(model, opened, head, search.place)
    coordinates(opened, search, head)


def ranking(opened: OpenedIndex, search: HeadSearch, ranked: list[tuple[ScoreCard, float]]) -> None:
    """Draw the list of heads; a click on one selects it."""
    chosen = selection.selected()
    table = figures.ranking_table(ranked)
    selectable_table(
        table,
        "corpus-ranking",
        lambda row: setattr(chosen, "head", ranked[row][0].head),
        height=430,
        column_order=["name", "score", "does"],
        column_config={
            "name": st.column_config.TextColumn(tr("Head"), width=100),
            "score": st.column_config.ProgressColumn(tr("Score"), **decimals(3), min_value=0, max_value=1, width=110),
            "does": st.column_config.TextColumn(tr("Does")),
        },
    )
    arguments = index_call(opened), search.behaviour, search.kinds, search.layer, dict(chosen.ranges)
    heads = Call("heads", figures.chosen_heads, arguments).returning(ranked)
    downloads(
        "corpus-heads",
        of_sentence=False,
        call=lambda: Call("ranking", figures.ranking_table, (heads,)).then("drop", columns="name"),
    )


def one_head(model: Model, opened: OpenedIndex, head: Head, place: str) -> None:
    """Describe a head and draw its strongest examples; a click on one opens it on the page Heads."""
    index, name = opened.index, figures.head_name(head)
    card = index.card(head)
    st.markdown(f"**{name}**: {head_does(card) or tr('mixed')}. {plain(sentences(card))}")
    usual = figures.quantile_text(index.heads.quantiles[index.rows[head]].tolist(), marked("rows"))
    st.caption(
        tr(
            "Strongest examples, attending to: **{place}**. Strength: {strength}.",
            place=tr(figures.PLACE_NAMES[place]),
            strength=usual,
        ),
        help=tr(ABOUT_EXAMPLES),
    )
    examples = index.head_examples(head, place)
    if not examples:
        st.info(tr("{head} has no example of this in the corpus. Select other examples above.", head=name))
        return
    try:
        shown = head_examples(model.translator, head, examples)
    except ValueError as error:
        st.error(sentence_case(str(error)))
        return
    selection.examples(shown, lambda number: selection.open_head(model, head, examples[number]), key="corpus-examples")
    recorded = Call("examples", "head_examples", (index_call(opened), head, place))
    recorded = Call("shown", head_examples, (python_code.translator(model), head, recorded)).returning(shown)
    title = tr("{head}, strongest examples attending to {place}", head=name, place=tr(figures.PLACE_NAMES[place]))
    downloads(
        "corpus-examples",
        partial(export_examples, shown, theme=page_theme(), title=title),
        title=title,
        of_sentence=False,
        call=lambda: Call("table", examples_table, (recorded, "strength")),
    )
    check(model, opened, head, place, examples[0])


def check(model: Model, opened: OpenedIndex, head: Head, place: str, example: HeadExample) -> None:
    """Draw the badge: the first example, computed again."""
    try:
        again = recomputed(model, opened.key, head, place, example)
    except ValueError as error:
        st.error(sentence_case(str(error)))
        return
    check_badge(
        marked("index agrees with the model"),
        abs(again - example.strength) <= TOLERANCE * example.strength,
        ABOUT_BADGE,
        tr(
            "{indexed:.5f} in the index, {again:.5f} now, gap {gap:.1g}",
            indexed=example.strength,
            again=again,
            gap=abs(again - example.strength),
        ),
    )


@st.cache_resource(max_entries=256, show_spinner=False, hash_funcs=MODEL_HASH)
def recomputed(model: Model, key: str, head: Head, place: str, _example: HeadExample) -> float:
    """Return the strength of the first example of a head at a place, from the model."""
    return head_strength(model.translator, head, _example)


def coordinates(opened: OpenedIndex, search: HeadSearch, head: Head | None) -> None:
    """Draw all heads of these kinds as parallel coordinates."""
    chosen, index, theme = selection.selected(), opened.index, page_theme()
    cards = figures.shown_cards(index, search.kinds, search.layer)
    drawing = figures.head_coordinates(index, cards, chosen.ranges, head, theme)
    within = sum(drawing.is_within(line) for line in drawing.lines)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.markdown(
            tr("**All scores**: {shown} of {total} heads in the selected ranges", shown=within, total=len(cards))
            if chosen.ranges
            else tr("**All scores**: {shown} of {total} heads", shown=within, total=len(cards)),
            help=tr(ABOUT_PARALLEL),
            width="content",
        )
        if chosen.ranges:
            st.button(tr("All heads again"), on_click=chosen.ranges.clear, key="clear_ranges", type="tertiary")
    parallel_coordinates(
        drawing, chosen.set_range, lambda number: setattr(chosen, "head", cards[number].head), key="corpus-parallel"
    )
    if chosen.ranges:
        st.caption(
            "; ".join(
                tr(
                    "{axis} from {low} to {high}",
                    axis=tr(figures.AXIS_NAMES[key]),
                    low=decimal(low, 2),
                    high=decimal(high, 2),
                )
                for key, (low, high) in chosen.ranges.items()
            )
        )
    downloads(
        "corpus-scores",
        partial(export_parallel, drawing, theme=theme),
        title=tr("Heads by their scores over a corpus"),
        of_sentence=False,
        call=lambda: Call("table", figures.scores_table, (index_call(opened), search.kinds, search.layer)),
    )
