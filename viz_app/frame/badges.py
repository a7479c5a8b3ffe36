"""Badges on any page: checks, made while the page is drawn, that it shows what the model computed."""

from typing import TYPE_CHECKING

import streamlit as st

from viz_app.controls.check_badge import check_badges
from viz_app.drawing.display_text import plain
from viz_app.language import marked, tr
from viz_app.session import readings
from viz_app.session.state import page_part

if TYPE_CHECKING:
    from core.analysis.sanity_checks import Check

ABOUT = {
    marked("rows sum to 1"): marked("Every row of every head is a distribution: its weights must sum to 1."),
    marked("masks respected"): marked(
        "The decoder must not attend to later tokens and, where self-attention is restricted, no token to any outside "
        "its neighbourhood: all those weights must be exactly 0."
    ),
    marked("tokens match axes"): marked(
        "The tokens next to every map must be those that the model was given, and every head must be in its place."
    ),
    marked("replay equals page"): marked(
        "One more pass over the finished translation must give each token the probability, and each head the weights, "
        "that the page shows."
    ),
    marked("fused equals explicit"): marked(
        "To record maps, attention is computed step by step; otherwise a fused kernel computes it. Both must give the "
        "same result."
    ),
    marked("dropout off"): marked(
        "Dropout switches off parts of a model at random in training. Here every module must be in evaluation mode."
    ),
}


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=readings.READING_HASH)
def checks(about: readings.Reading) -> "list[Check]":
    """Run all checks on a reading."""
    from core.analysis.sanity_checks import check_explanation

    return check_explanation(about.model.translator, about.explain(), about.hypothesis)


@st.fragment
def badges(about: readings.Reading) -> None:
    """Draw the badges, at the end of a page, as they run the model twice, if there is one."""
    if about.model.explanation is not None:
        st.caption(
            tr(
                "Read from {file}, where every row sums to 1 and no weight is on later tokens. More cannot be checked "
                "without the model.",
                file=plain(about.model.name),
            )
        )
        return
    if about.hypothesis.fed_ids is not None:
        st.caption(
            tr("The checks are of models that predict one token after the other: there are none for mask-predict.")
        )
        return
    with page_part():
        check_badges([(each.name, each.passed, ABOUT[each.name], each.detail) for each in checks(about)], "trust")
