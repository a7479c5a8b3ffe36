"""The part of the page Alignment about a whole text: bring gold links, and have every head ranked by them."""

import streamlit as st

from core.analysis.alignment.cli import format_ranking
from viz_app.features.alignment import aligner_list
from viz_app.figures.display_text import plain, sentence_case
from viz_app.session import aligner_ranking, gold_links, readings
from viz_app.session.attributions import METHOD_NAMES

ABOUT_FILE = """
Three UTF-8 files, or lines of `source ||| target ||| links`, that go line by line together: words separated by spaces,
links counted from 0 in the Pharaoh format, `0-0` a sure link, `1?2` a possible one, the source's word first. `python -m
core align` prints the same numbers.
"""
FILES = ("Source", "Target", "Links")
PAUSE = 0.1  # seconds from one turn to the next, for the clicks of its reader


def text_with_gold() -> None:
    """Rank all heads on a parallel text whose links are known."""
    work = aligner_ranking.ranking()
    form()
    if work:
        st.fragment(progress, run_every=PAUSE if work.running else None)()
    results()


@st.fragment
def form() -> None:
    """What to rank on. In a form one click sends what is still being typed along with it."""
    st.markdown("**Heads as aligners of a text with gold links**", help=ABOUT_FILE)
    with st.form("gold_text", border=False):
        files = [
            column.file_uploader(name, key=f"gold_{name}", max_upload_size=5)
            for column, name in zip(st.columns(3), FILES, strict=True)
        ]
        pasted = st.text_area(
            "Or paste lines",
            key="gold_pasted",
            placeholder="a dog runs ||| ein hund l\u00e4uft ||| 0-0 1-1 2-2",
            height=80,
            help=ABOUT_FILE,
            persist_state="session",
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            asked = st.form_submit_button("Rank all heads", key="rank_file")
            st.caption("by the method chosen above")
    if asked:
        try:
            pairs = gold_links.given_pairs([(file.name, file.getvalue()) for file in files if file], pasted)
        except ValueError as error:
            st.error(sentence_case(str(error)))
            return
        aligner_ranking.begin(readings.model(), st.session_state["method"], pairs)
        st.rerun()


def progress() -> None:
    """How far it is, and some pairs more each time this is run, so that a click is answered between them."""
    work = aligner_ranking.ranking()
    if work is None:
        return
    if work.problem:
        st.error(sentence_case(work.problem))
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        told = f"{work.done} of {len(work.pairs)} pairs, {METHOD_NAMES[work.method]}, {work.model.name}"
        if work.running:
            st.progress(work.done / len(work.pairs), plain(told))
        else:
            st.caption(plain(told), width="content")
        if st.button(
            "Stop" if work.running else "Go on", on_click=work.let_run, args=(not work.running,), key="run_ranking"
        ):
            st.rerun()  # whether this runs again by itself is settled where it is called
    if work.running and not work.advance():
        st.rerun()


@st.fragment
def results() -> None:
    """Every aligner, the best first; a click on one looks at it above."""
    if aligner_list.just_chosen():
        st.rerun()
    found = aligner_ranking.ranked()
    if found is None:
        return
    st.caption(plain(f"{found.num_pairs} pairs, {METHOD_NAMES[found.method]}, {found.name}"))
    aligner_list.show_aligners(found.aligners, "file")
    table = format_ranking(found.aligners, found.num_pairs)
    st.download_button(
        "Table as the command line prints it", table + "\n", "aligners.txt", on_click="ignore", type="tertiary"
    )
