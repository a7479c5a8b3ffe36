"""Beam: the search as a tree, whose candidates can be selected."""

from dataclasses import dataclass
from functools import partial

import streamlit as st

from core.analysis.beam_tree import BeamNode, BeamTree
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import number_column, show_table
from viz_app.controls.widgets import setting_segments, show_answer, text_button, way_to
from viz_app.drawing.display_text import isolated, plain
from viz_app.language import marked, tr, tr_count, translated
from viz_app.session import address, python_code, readings
from viz_app.session.state import session_object
from viz_app.views.translate.beam.beam_tree import beam_tree
from viz_app.views.translate.fan import WIDE, FanRow, fan, fan_rows, width

WORDS, TREE = "Words", "Pieces"
MOST_DROPPED = (8, 4, 2)  # rows of what was dropped, as many as leave room for words
ABOUT_WORDS = marked("""
The hypotheses that the beam has kept, in words. A row begins where it leaves the row that it hangs from. The numbered
ones finished; they are ranked by their **score**, the log-probability divided by the length penalty. The faint ones
were dropped where they end, as others had become more probable.

**Click** a row to show it on all pages. **Pieces** has every candidate of every step, and what the search looked like
then.
""")
HOW_TO_READ = marked("""
A row is a **position** of the translation, with the best candidates of that step, twice the beam size, the most
probable at the left. A line joins each candidate to the one it continues; the thicker, the more probable the token. The
number is the **score**: the log-probability up to there, divided by the length penalty. The coloured path is the best
hypothesis.

**Click** a candidate to show the best translation that begins with it, here and on all other pages.

The candidates of a step have the same length and are ranked by log-probability. The score ranks the finished
hypotheses. A low rank does not mean that a translation is wrong, only that the model finds others more probable.

A candidate with `</s>` **finishes** if it is among the first of its step, as many as the beam is wide; further down it
is pruned. The search ends when as many have finished as the beam is wide, even if a live one scores higher or could
lead to a better translation; or earlier, when none can. Some imported models search on while a live one scores higher.
""")


@dataclass
class SelectedCandidate:
    """Token ids of the candidate that was clicked last; empty before the first click."""

    token_ids: tuple[int, ...] = ()

    def show(self, reading: readings.Reading, tree: BeamTree, node: BeamNode, complete: bool = True) -> None:
        """Show the best hypothesis through a candidate, or the candidate as it is."""
        self.token_ids = node.token_ids
        end = tree.best_through(node) if complete else None
        readings.show_candidate(reading, tree.hypothesis(end or node))

    def find(self, reading: readings.Reading, tree: BeamTree) -> BeamNode | None:
        """Return the candidate if the target begins with it, else the end of the current target in the tree."""
        target = reading.hypothesis.token_ids
        is_shown = self.token_ids and target[: len(self.token_ids)] == self.token_ids
        return tree.node(self.token_ids if is_shown else target)


def search_note(reading: readings.Reading, tree: BeamTree) -> None:
    """Say how the search was forced, or that the target is not one of its candidates."""
    if tree.num_forced:
        beginning = tree.steps[tree.num_forced - 1][0].text
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            text = tr_count(
                "The search was **forced** to begin with \u201c{beginning}\u201d: {count} token, underlined here.",
                "The search was **forced** to begin with \u201c{beginning}\u201d: {count} tokens, underlined here.",
                tree.num_forced,
                beginning=isolated(plain(beginning)),
            )
            st.caption(text, width="content")
            text_button(tr("Search freely"), readings.new_sentence, key="search_freely")
    elif all(node.token_ids != reading.hypothesis.token_ids for nodes in tree.steps for node in nodes):
        st.caption(tr("The translation above was forced as a whole; the free search did not find it."))


def picture(reading: readings.Reading, tree: BeamTree, selected: BeamNode | None) -> None:
    """Draw the tree; a click on a candidate shows its best hypothesis on all pages."""
    show = session_object(SelectedCandidate).show
    end = tree.node(reading.hypothesis.token_ids)
    beam_tree(tree, partial(show, reading, tree), selected=selected, end=end)


def words(reading: readings.Reading, tree: BeamTree) -> None:
    """Draw what the beam has kept, in words; a click on a row shows it on all pages."""
    ranks = {each.token_ids: rank for rank, each in enumerate(tree.finished)}

    def row(node: BeamNode) -> FanRow:
        rank, note = ranks.get(node.token_ids), translated(tree.reason(node))
        return FanRow(tree.hypothesis(node), rank, None if rank is None else round(node.score, 2), note=note)

    def rows(most: int) -> list[FanRow]:
        return fan_rows([row(node) for node in tree.survivors(most)])

    narrow = (each for each in map(rows, MOST_DROPPED) if width(each) <= WIDE)
    shown = next(narrow, None) or rows(0 if tree.finished else 1)
    show = partial(readings.show_candidate, reading)
    fan("beam_words", shown, reading.hypothesis.token_ids, tr("score"), lambda each: show(each.translation))


def cut_button(reading: readings.Reading, tree: BeamTree, selected: BeamNode | None) -> None:
    """Draw the button that cuts the target off here, or the one that completes it."""
    best = selected and tree.best_through(selected)
    is_cut = best is not selected and selected is not None and reading.hypothesis.token_ids == selected.token_ids
    if best is None:
        about = tr("No finished translation begins with the selected candidate: only its own tokens are shown.")
    elif best is selected:
        about = tr("The selected candidate is the end of its translation.")
    else:
        about = tr(
            "A click on a candidate shows the best translation that begins with it. Cut off, its last tokens go."
        )
    text, show = tr("Show it completed") if is_cut else tr("Cut off here"), session_object(SelectedCandidate).show
    is_whole = best is None or best is selected
    text_button(text, show, reading, tree, selected, is_cut, key="cut_or_complete", help=about, disabled=is_whole)


def numbers(tree: BeamTree) -> None:
    """Draw the table behind the picture."""
    show_table(
        tree.table(),
        height=490,
        row_height=66,  # from here on, texts wrap
        column_config={
            "position": st.column_config.NumberColumn(tr("Position"), width=70),
            "rank": st.column_config.NumberColumn(tr("Rank"), width=60),
            "text": tr("Hypothesis so far"),
            "token": st.column_config.TextColumn(tr("Token"), width="small"),
            "token_log_prob": number_column(tr("Token log-prob"), 3, width=110),
            "log_prob": number_column(tr("Log-prob"), 3, width="small"),
            "score": number_column(tr("Score"), 3, width="small"),
            "fate": st.column_config.TextColumn(tr("Outcome"), width="small"),
            "reason": st.column_config.TextColumn(tr("Why"), width=300),
        },
    )


def page(reading: readings.Reading) -> None:
    """Draw everything below the sentence."""
    with st.spinner(tr("Searching again to keep all candidates")):
        recorded = python_code.beam_search(reading.model, reading.search, reading.prefix, reading.constraints)
    tree: BeamTree = recorded.known
    selected = session_object(SelectedCandidate).find(reading, tree)
    show_answer(tree.answer(), f"{tr(ABOUT_WORDS)}\n\n{tr(HOW_TO_READ)}")
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        view = setting_segments(address.BEAM_VIEW, tr("View"), hide_label=True)
        if view != WORDS:
            cut_button(reading, tree, selected)
        way_to("heads", tr("See its attention"))
    search_note(reading, tree)
    if view == WORDS:
        words(reading, tree)
    elif view == TREE:
        picture(reading, tree, selected)
    else:
        numbers(tree)
    drawing = {WORDS: "beam_words", TREE: "beam_tree"}.get(view)
    title = tr("Beam search, beam size {size}", size=reading.search.beam_size)
    downloads("beam", drawing, lambda: recorded.then("table"), title=title)


reading = readings.reading()
if reading is not None:
    page(reading)
