"""Beam: the search as a tree, and the way into anything that it looked at."""

from functools import partial

import pandas as pd
import streamlit as st

from core.analysis.beam_tree import BeamTree, beam_tree
from core.analysis.tokens.words import readable
from viz_app.components import beam_tree as drawing
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import show_table
from viz_app.figures.display_text import isolated, plain
from viz_app.figures.export.beam_tree import export_tree
from viz_app.figures.theme import theme_named
from viz_app.session import readings

HOW_TO_READ = """
A row is a **position** of the translation; in it stand the best candidates of that step, twice as many as the beam is
wide, the most probable at the left. A line leads from each to what it continues; the thicker, the more probable the
token. The number is the **score**: the log-probability of everything up to there over the length penalty. The coloured
way is the hypothesis that won.

The candidates of a step are ranked by log-probability: all are equally long. The score matters between those that have
finished. A low rank does not mean that a translation is wrong, only that the model found others more probable.
"""


def grown(reading: readings.Reading) -> BeamTree:
    """The tree of the search behind the reading."""
    search, prefix = reading.search, reading.prefix

    def grow() -> BeamTree:
        return beam_tree(
            reading.model.translator,
            search.text,
            search.beam_size,
            search.length_penalty,
            search.num_hypotheses,
            prefix,
        )

    with st.spinner("Searching once more, to keep every candidate"):
        return readings.beam_trees().get((reading.model.digest, search, prefix), grow)


def which_search(reading: readings.Reading, tree: BeamTree) -> None:
    """Say what the search was forced to, or that what is looked at is none of it."""
    if tree.num_forced:
        begun = tree.steps[tree.num_forced - 1][0].text
        count = "1 token was" if tree.num_forced == 1 else f"{tree.num_forced} tokens were"
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(
                f"The search was **forced** to begin with \u201c{isolated(plain(begun))}\u201d: {count} chosen for "
                f"it, underlined here.",
                width="content",
            )
            st.button("Search freely", on_click=readings.new_sentence, type="tertiary", key="search_freely")
    elif all(node.token_ids != reading.hypothesis.token_ids for nodes in tree.steps for node in nodes):
        st.caption("The translation above was forced as a whole, and the search, which is free, never came to it.")


def table(tree: BeamTree) -> pd.DataFrame:
    """A row a candidate."""
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
    """The tree; a click on a candidate makes it what all pages are about."""
    drawing.beam_tree(
        tree, lambda node: readings.look_at(reading, tree.hypothesis(node)), selected=reading.hypothesis.token_ids
    )


def numbers(candidates: pd.DataFrame) -> None:
    """The table behind the picture."""
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
    """Everything below the sentence."""
    tree = grown(reading)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        view: str = st.segmented_control(
            "View",
            ("Tree", "Table"),
            default="Tree",
            required=True,
            key="beam_view",
            bind="query-params",
            label_visibility="collapsed",
        )
        st.markdown(
            f"**Beam search**: {sum(map(len, tree.steps))} candidates, {len(tree.finished)} finished",
            help=HOW_TO_READ,
            width="content",
        )
        st.page_link("app_pages/heads.py", label="See its attention", icon=":material/arrow_forward:", width="content")
    which_search(reading, tree)
    candidates = table(tree)
    if view == "Tree":
        picture(reading, tree)
    else:
        numbers(candidates)
    downloads("beam", partial(export_tree, tree, theme=theme_named(st.context.theme.type)), lambda: candidates)


reading = readings.reading()
if reading is None:
    st.caption("The search appears here as soon as there is a sentence to translate.")
else:
    page(reading)
