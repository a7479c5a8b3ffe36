"""What heads write: the logit of a token as a sum over the decoder's parts."""

from functools import partial

import streamlit as st

from core.analysis.attribution.logit_attribution import LogitAttribution
from core.analysis.attribution.logit_lexicon import LexiconRanking
from core.analysis.declaration import Columns
from core.analysis.heads.head import Head
from core.analysis.recorded_call import Call
from viz_app.components import word_links
from viz_app.controls.check_badge import check_badge
from viz_app.controls.downloads import downloads, picture_with_files
from viz_app.controls.predicted_token import token_box
from viz_app.controls.score_products import map_with_products
from viz_app.controls.tables import bar_column, number_column, selectable_table, show_table
from viz_app.controls.widgets import page_theme, show_answer
from viz_app.drawing.display_text import decimal, plain
from viz_app.drawing.head_names import head_title, head_titles
from viz_app.language import marked, tr, translated
from viz_app.session import python_code, questions
from viz_app.session.map_pass import reading_pass
from viz_app.session.readings import Reading, reading_part
from viz_app.session.state import refusals_shown
from viz_app.views.why.contributions import logit_terms

HOW_TO_READ = marked("""
The **logit** of a token is the number that the softmax turns into its probability. The decoder's last state is a sum of
everything that heads, feed-forward networks, biases and the embedding have added to it, and a logit is linear in that
state. With the scale of every LayerNorm held at its value in this pass, the logit splits exactly into their
contributions: **all numbers together are the logit** (Elhage et al. 2021; Ferrando & Voita 2024).

A constant added to all logits changes no probability. So "minus the logit of" an alternative, or of the mean of all,
says more than a logit alone: it leaves out what favours all tokens alike.

A contribution is what a part adds **directly**. What it changes in later layers is in their contributions. The encoder
acts through the values of cross-attention, so its share stands at the source tokens, each of which has read its
neighbours. The split does not say what would happen without a part, since the rest would adapt: see Switches and Cut.
""")
ABOUT_REMOVAL = marked("""
Each head of the model is turned off alone, and the model predicts this token again. Where less than half of its
probability is left, or another token is the most probable, the head decides. The other heads are the control: what a
head drawn by lot does. Below, what heads add directly: the two need not agree.
""")
ABOUT_LEXICON = marked("""
At weight 1, a cross-attention head adds the same vector for a source token in every row. Read through the norms that
follow and through the embedding matrix, it promotes some target pieces: a **lexicon** (the OV circuit of Elhage et al.
2021). **Agreement** is the mean of 1 / rank of the predicted token among all pieces that the head promotes in its row;
**first** is the share of tokens that it ranks first. A low value means that the head does other work, not that it is
useless. The encoder has mixed in neighbours, so the entry of a token is for this sentence.
""")
KEYS = ("contributions", "contributions-heads", "contributions-source", "contributions-prefix")
TITLES = (
    marked("**By layer and part**"),
    marked("**By head**: click one to open it below"),
    marked("**By source token**, through cross-attention: click a cell to open its strongest head"),
    marked("**By prefix token**, through self-attention: click a cell to open its strongest head"),
)
ABOUT_BARS = marked("Embeddings, feed-forward networks and biases have no heads, so a click on their bars opens none.")
ABOUT_BADGE = marked(
    "The terms are computed from the recorded states, the logit by the model. They must agree to rounding."
)


@reading_part
def page(reading: Reading) -> None:
    """Draw everything below the sentence; a click in it runs only this part again."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        position = token_box(reading)
        against = logit_terms.against_box(reading, position)
    with refusals_shown():
        recorded = logit_terms.terms_call(reading, position, against)
    terms: LogitAttribution = recorded.known
    head = logit_terms.term_head(terms)
    pictures = terms.pictures(head)
    show_answer(logit_terms.removals_call(reading, position).known.answer(), tr(ABOUT_REMOVAL), terms.answer(head))

    def draw(number: int) -> None:
        """Draw one of the pictures; a click opens the head of a mark, or the one that adds most to it."""
        shown, key = pictures[number], KEYS[number]
        st.markdown(tr(TITLES[number]), help=None if number else f"{tr(HOW_TO_READ)}\n\n{tr(ABOUT_BARS)}")
        table, selected = None if number else recorded.then("table"), head if number == 1 else None
        picture_with_files(shown, key, table, selected, on_head=logit_terms.select)

    left, right = st.container(key="side-by-side").columns([3, 7], gap="medium")
    with left:
        draw(0)
    with right:
        draw(1)
    left, right = st.container(key="difference").columns([5, 6], gap="large")
    with left:
        draw(2)
        draw(3)
    with right:
        one_head(reading, recorded, head)
        lexicons(reading)
    check_badge(
        tr("terms sum to the logit"),
        passed=True,
        about=tr(ABOUT_BADGE),
        found=tr("sum {sum:.6f}, logit {logit:.6f}, gap {gap:.1g}", sum=terms.total, logit=terms.logit, gap=terms.gap),
    )


def one_head(reading: Reading, split: Call, head: Head) -> None:
    """Draw the tokens that the selected head attends to, its terms in the `split` logit, and the pieces it promotes."""
    terms: LogitAttribution = split.known
    with st.container(horizontal=True, vertical_alignment="center"):
        value = decimal(terms.heads()[head], 2, sign=True)
        st.markdown(
            tr("**{head}** contributes **{value}**", head=head_title(head), value=value),
            width="content",
            help=tr(ABOUT_LEXICON),
        )
        asked = {
            tr("Open on Heads"): partial(questions.ask_which_map, reading, head, terms.position),
            tr("Switch it off"): partial(questions.ask_without, reading, head),
        }
        for name, ask in asked.items():
            st.button(name, on_click=ask, type="tertiary", key=f"term-{ask.func.__name__}")
    own, of = reading.explain().maps[head.kind][head.layer], reading_pass(reading)
    map_with_products(
        own,
        head.head,
        page_theme(),
        of,
        key="logit-map",
        place={"query": [terms.position], "key": []},
        links=word_links.links(reading.explain(), head.kind, words=False, hide_special=False),
        name=lambda *_: head_title(head),
    )
    promoted = logit_terms.lexicon_call(reading, head) if head.kind == "cross" else None
    recorded = split.then("head_table", python_code.explanation(reading), head, promoted)
    table: Columns = recorded.run()
    show_table(
        table,
        height=420,
        column_config={
            "token": st.column_config.TextColumn(tr("Attends to"), width=90),
            "weight": bar_column(tr("Weight"), 3, width=90),
            "contribution": number_column(tr("Contribution"), 3, width=90),
            "promotes": st.column_config.TextColumn(tr("Promotes")),
        },
    )
    downloads(f"contributions-{str(head).lower().replace(' ', '-')}", call=recorded.returning(table))


def lexicons(reading: Reading) -> None:
    """Draw cross-attention heads by how well their lexicon agrees with the translation."""
    st.markdown(tr("**Lexicons**: cross-attention heads by agreement with the translation"), help=tr(ABOUT_LEXICON))
    recorded = logit_terms.ranking_call(reading)
    ranking: LexiconRanking = recorded.known
    selectable_table(
        {"name": head_titles(each.head for each in ranking.heads), **ranking.table()},
        "lexicon-heads",
        lambda row: logit_terms.select(ranking.heads[row].head),
        height=250,
        column_order=["name", "reciprocal_rank", "first"],
        column_config={
            "name": st.column_config.TextColumn(tr("Head"), width=90),
            "reciprocal_rank": bar_column(tr("Agreement"), 3),
            "first": number_column(tr("First"), 2, width=70),
        },
    )
    st.caption(plain(translated(ranking.answer())))
    downloads("lexicon-heads", call=recorded.then("table"))


page()
