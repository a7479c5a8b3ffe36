"""The selected aligner of the page Alignment, tables to select one, and a ranking on a text with gold links."""

from collections.abc import Sequence

import streamlit as st

from core.analysis.alignment import sentence_alignment
from core.analysis.alignment.align import RankedAligners
from core.analysis.alignment.aligners import Aligner, Rows
from core.analysis.alignment.sentence_alignment import HeadOrMean
from viz_app.controls.job_control import job_control
from viz_app.controls.tables import bar_column, number_column, selectable_table
from viz_app.drawing.display_text import plain
from viz_app.language import marked, tr, tr_count, translated
from viz_app.session import address, readings
from viz_app.session.aligner_ranking import TextRankings
from viz_app.session.attributions import METHOD_NAMES
from viz_app.session.chosen_heads import keep_heads
from viz_app.session.fields import part
from viz_app.session.state import refusals_shown, session_dict, session_object
from viz_app.views.heads import gold_links

METHOD = address.METHOD
ALIGNER = address.ALIGNER  # a head or a mean, by name
ROWS = address.ROWS
CLICKS = "clicked_aligners"
ROW_NAMES: dict[Rows, str] = {"predicted": marked("by predicted word"), "fed": marked("by input word")}
ROWS_IN_TABLE: dict[Rows, str] = {"predicted": marked("predicted"), "fed": marked("fed")}


def took_click() -> bool:
    """Return whether an aligner was selected in a table of either half of the page since the last call."""
    return session_dict(CLICKS).pop("aligner", False)


def aligner_title(place: HeadOrMean) -> str:
    """Return the name of an aligner in the visitor's language, counted from 1: `L5 H3`, `L5 mean`, `mean`."""
    return translated(sentence_alignment.aligner_title(place))


def show_aligners(aligners: Sequence[Aligner], key: str) -> None:
    """Draw a table of aligners; selecting a row selects that aligner on the page."""

    def select(row: int) -> None:
        ALIGNER.set(str(aligners[row]))
        keep_heads(ALIGNER)
        ROWS.set(aligners[row].rows)
        session_dict(CLICKS)["aligner"] = True

    scores = RankedAligners(aligners, 0).table()
    selectable_table(
        {
            "head": [aligner_title((each.layer, each.head)) for each in aligners],
            "rows": [tr(ROWS_IN_TABLE[each.rows]) for each in aligners],
            **{name: scores[name] for name in ("error_rate", "precision", "recall")},
        },
        f"aligners_{key}",
        select,
        height=330,
        column_config={
            "head": st.column_config.TextColumn(tr("Head"), width=75),
            "rows": st.column_config.TextColumn(
                tr("Rows"), width=80, help=tr("Aligned by the rows that predict a word, or that were fed it.")
            ),
            "error_rate": bar_column(tr("Errors (AER)"), 3, width=120, help=tr("0 is best; 1: no gold link found.")),
            "precision": number_column(tr("Precision"), 3, width=75, help=tr("Share of its links that are gold.")),
            "recall": number_column(tr("Recall"), 3, width=65, help=tr("Share of the sure gold links that it found.")),
        },
    )


ABOUT_FILE = marked("""
Three UTF-8 files with the same number of lines, or lines of `source ||| target ||| links`. Words are separated by
spaces. Links are in the Pharaoh format, counted from 0, the source word first: `0-0` is a sure link, `1?2` a possible
one. `python -m core align` prints the same numbers.
""")
FILES = (marked("Source"), marked("Target"), marked("Links"))
EXAMPLE = "a dog runs ||| ein hund l\u00e4uft ||| 0-0 1-1 2-2"


def text_with_gold() -> None:
    """Rank all heads on a parallel text with gold links."""
    rankings = session_object(TextRankings)
    with st.expander(tr("Heads as aligners of a text with gold links"), expanded=bool(rankings.job or rankings.last)):
        form()
    if job := rankings.job:
        job_control(job, "run_ranking")
    results()


@part
def form() -> None:
    """Draw the form for the text, from which one click also sends text that is still being typed."""
    with st.form("gold_text", border=False):
        files = [
            column.file_uploader(tr(name), key=f"gold_{name}", max_upload_size=5)
            for column, name in zip(st.columns(3), FILES, strict=True)
        ]
        pasted = st.text_area(
            tr("Or paste lines"),
            key="gold_pasted",
            placeholder=EXAMPLE,
            height=80,
            help=tr(ABOUT_FILE),
            persist_state="session",
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            submitted = st.form_submit_button(tr("Rank all heads"), key="rank_file")
            st.caption(tr("by the method chosen above"))
    if submitted:
        with refusals_shown():
            pairs = gold_links.given_pairs([(file.name, file.getvalue()) for file in files if file], pasted)
        session_object(TextRankings).begin(readings.model(), METHOD.value or "attention", pairs)
        st.rerun()


@part
def results() -> None:
    """Draw all aligners, best first; a click on one shows it above."""
    if took_click():
        st.rerun()
    ranked = session_object(TextRankings).last
    if ranked is None:
        return
    note = tr_count(
        "{count} pair, {method}, {checkpoint}",
        "{count} pairs, {method}, {checkpoint}",
        ranked.num_pairs,
        method=tr(METHOD_NAMES[ranked.method]),
        checkpoint=ranked.checkpoint,
    )
    st.caption(plain(note))
    show_aligners(ranked.aligners, "file")
    st.download_button(
        tr("Table as printed on the command line"), f"{ranked}\n", "aligners.txt", on_click="ignore", type="tertiary"
    )
