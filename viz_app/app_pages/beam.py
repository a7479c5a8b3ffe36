"""Beam: the search as a tree, whose candidates can be selected."""

from functools import partial

import pandas as pd
import streamlit as st

from core.analysis.beam_tree import BeamTree, beam_tree
from core.analysis.tokens.words import readable
from viz_app.components import beam_tree as drawing
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import show_table
from viz_app.controls.widgets import page_theme, segments
from viz_app.figures.display_text import isolated, plain
from viz_app.figures.export.beam_tree import export_tree
from viz_app.session import readings
from viz_app.session.models import MODEL_HASH, Model

HOW_TO_READ = """
A row is a **position** of the translation, with the best candidates of that step, twice the beam size, the most
probable at the left. A line joins each candidate to the one it continues; the thicker, the more probable the token. The
number is the **score**: the log-probability up to there, divided by the length penalty. The coloured path is the best
hypothesis.

The candidates of a step have the same length and are ranked by log-probability. The score ranks the finished
hypotheses. A low rank does not mean that a translation is wrong, only that the model finds others more probable.
"""


@st.cache_resource(max_entries=12, show_spinner=False, hash_funcs=MODEL_HASH)
def search_tree(model: Model, search: readings.Search, prefix: tuple[int, ...]) -> BeamTree:
    """Search again, and keep all candidates."""
    return beam_tree(
        model.translator, search.text, search.beam_size, search.length_penalty, search.num_hypotheses, prefix
    )


def search_note(reading: readings.Reading, tree: BeamTree) -> None:
    """Say how the search was forced, or that the target is not one of its candidates."""
    if tree.num_forced:
        beginning = tree.steps[tree.num_forced - 1][0].text
        count = "1 token" if tree.num_forced == 1 else f"{tree.num_forced} tokens"
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(
                f"The search was **forced** to begin with \u201c{isolated(plain(beginning))}\u201d: {count}, "
                f"underlined here.",
                width="content",
            )
            st.button("Search freely", on_click=readings.new_sentence, type="tertiary", key="search_freely")
    elif all(node.token_ids != reading.hypothesis.token_ids for nodes in tree.steps for node in nodes):
        st.caption("The translation above was forced as a whole; the free search did not find it.")


def table(tree: BeamTree) -> pd.DataFrame:
    """Make a table with a row for each candidate."""
    nodes = [node for step in tree.steps for node in step]
    return pd.DataFrame(
        {
            "position": [node.position for node in nodes],
            "rank": [node.rank + 1 for node in nodes],
            "text": [node.text for node in nodes],
            "token": [readable(node.token) for node in nodes],
            "token_log_prob": [node.token_log_prob for node in nodes],
            "log_prob": [node.log_prob for node in nodes],
            "score": [node.score for node in nodes],
            "fate": [node.fate for node in nodes],
            "reason": [drawing.node_reason(node, tree) for node in nodes],
        }
    )


def picture(reading: readings.Reading, tree: BeamTree) -> None:
    """Draw the tree; a click on a candidate explains it on all pages."""
    drawing.beam_tree(
        tree,
        lambda node: readings.show_candidate(reading, tree.hypothesis(node)),
        selected=reading.hypothesis.token_ids,
    )


def numbers(candidates: pd.DataFrame) -> None:
    """Draw the table behind the picture."""
    show_table(
        candidates,
        height=560,
        column_config={
            "position": st.column_config.NumberColumn("Position", width=70),
            "rank": st.column_config.NumberColumn("Rank", width=60),
            "text": st.column_config.TextColumn("Hypothesis so far"),
            "token": st.column_config.TextColumn("Token", width="small"),
            "token_log_prob": st.column_config.NumberColumn("Token log-prob", format="%.3f", width=110),
            "log_prob": st.column_config.NumberColumn("Log-prob", format="%.3f", width="small"),
            "score": st.column_config.NumberColumn("Score", format="%.3f", width="small"),
            "fate": st.column_config.TextColumn("Fate", width="small"),
            "reason": st.column_config.TextColumn("Why"),
        },
    )


def page(reading: readings.Reading) -> None:
    """Draw everything below the sentence."""
    with st.spinner("Searching again to keep all candidates"):
        tree = search_tree(reading.model, reading.search, reading.prefix)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        view = segments("View", ("Tree", "Table"), "Tree", "beam_view", hide_label=True)
        st.markdown(
            f"**Beam search**: {sum(map(len, tree.steps))} candidates, {len(tree.finished)} finished",
            help=HOW_TO_READ,
            width="content",
        )
        st.page_link("app_pages/heads.py", label="See its attention", icon=":material/arrow_forward:", width="content")
    search_note(reading, tree)
    candidates = table(tree)
    if view == "Tree":
        picture(reading, tree)
    else:
        numbers(candidates)
    downloads("beam", partial(export_tree, tree, theme=page_theme()), lambda: candidates)


reading = readings.reading()
if reading is None:
    st.caption("Enter a sentence above to see the search.")
else:
    page(reading)
