"""Discoveries: what the heads of the open model do more of than random weights, and what changes without them."""

from dataclasses import replace
from functools import partial

import streamlit as st

from core.analysis.discoveries.facts import Fact
from core.analysis.discoveries.search import TWINS
from core.analysis.sample_sentences import EVERYDAY
from viz_app.components.picture import picture
from viz_app.controls.downloads import downloads
from viz_app.controls.job_control import job_control
from viz_app.drawing.display_text import plain
from viz_app.language import marked, tr, translated
from viz_app.session import readings
from viz_app.session.fields import page_address
from viz_app.session.state import session_object
from viz_app.views.overview.discoveries.search_job import Search, SearchSlot

HOW_TO_READ = marked("""
The shipped sentences are translated greedily. A head is listed if it does more of something than heads with random
weights do in the same configuration (the limit is for all heads and behaviours together, Westfall & Young 1993;
intervals are by the Bayesian bootstrap, Rubin 1981), and if a translation changes when it is switched off: twelve at
most, those farthest above random weights and of different behaviours first. Twelve heads drawn by lot are switched off,
too: a head without which no more translations change than without those matters little. With `python -m core
discover`, the sentences may be your own.
""")
NOT_MEANT = marked(
    "A head may do other things elsewhere, and others may do the same. That a translation changes without a head does "
    "not say that it does so by what the head attends to."
)


def page() -> None:
    """Draw what is found so far, and go on."""
    model = readings.model()
    search = session_object(SearchSlot).of(model.digest, partial(Search, model))
    text = tr("**What heads of {model} do**, and what changes without them", model=plain(model.name))
    st.markdown(text, help=tr(HOW_TO_READ))
    job_control(search.job, "discoveries", below=partial(facts, search))


def facts(search: Search) -> None:
    """Draw the facts, each with its picture and a link."""
    found = replace(search.found, digest=search.model.digest)
    if search.job.finished:
        st.markdown(plain(translated(found.answer())))
    elif not found.facts:
        count = len(EVERYDAY) + TWINS
        st.caption(tr("Facts appear here as they are found, the first after some {count} steps.", count=count))
    for number, fact in enumerate(found.facts):
        drawn(fact, number, found.digest)
    if found.facts:
        st.caption(tr(NOT_MEANT))
        downloads(
            "discoveries",
            table=found.table,
            page=lambda: found.show().html(),
            title=tr("Discoveries"),
            of_sentence=False,
        )


def drawn(fact: Fact, number: int, digest: str) -> None:
    """Draw a fact."""
    how_often, effect, example = (plain(translated(text)) for text in fact.texts)
    link = page_address("heads", fact.settings(digest))
    opened = tr("[{head} in this sentence]({address})", head=translated(fact.head.title), address=link)
    with st.container(border=True):
        st.markdown(f"**{plain(translated(fact.title))}**", help=plain(translated(fact.measure)))
        st.markdown(f"{how_often} {effect}")
        st.markdown(example)
        picture(fact.picture, f"discovery-{number}")
        st.markdown(opened)


page()
