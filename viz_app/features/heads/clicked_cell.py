"""The cell of a large map that was clicked last, and the way to the products behind its score."""

from dataclasses import dataclass
from functools import partial

import streamlit as st

from core.analysis.tokens.words import readable
from core.capture import AttentionMap, Kind
from core.drawing.token_spans import FED_ARROW
from viz_app.components import word_links
from viz_app.components.attention_data import ClickedWeights, OnCell
from viz_app.features.heads.heads_view import HeadsView
from viz_app.figures.display_text import decimal, isolated, plain
from viz_app.session.readings import Reading
from viz_app.session.state import session_object
from viz_app.session.step_place import StepPlace


@dataclass
class ClickedCell:
    """The cell of a session.

    Attributes:
        of: identity of the reading, kind, layer and head; None before the first click.
        query, key: positions of its tokens.
    """

    of: object = None
    query: int = 0
    key: int = 0


def on_cell(about: Reading, view: HeadsView, attention: AttentionMap) -> OnCell | None:
    """Return what a click on a cell of a map does; None for a map that no scores are behind."""
    if attention.layer < 0 or view.weights.method != "attention":
        return None
    return partial(_click, about, view, attention.layer)


def _click(about: Reading, view: HeadsView, layer: int, clicked: ClickedWeights) -> None:
    """Keep the cell, of a word with several tokens its largest weight, and lead the page Step by step there."""
    (head, *_), row, column = clicked
    if row is None or column is None:
        return
    places = word_links.positions(about.explain(), view.kind, view.tokens.words, view.tokens.hide_special)
    weights = about.explain().maps[view.kind][layer].weights[head]
    pairs = [(query, key) for query in places["query"][row] for key in places["key"][column]]
    query, key = max(pairs, key=lambda pair: float(weights[pair]))
    cell = session_object(ClickedCell)
    cell.of, cell.query, cell.key = _name(about, view.kind, layer, head), query, key
    session_object(StepPlace).lead_to_score(view.kind, layer, head, query, key)


def link(about: Reading, view: HeadsView, attention: AttentionMap, head: int) -> None:
    """Draw the cell of a map and the link to the products behind it, or say how to get there."""
    if on_cell(about, view, attention) is None:
        return
    cell = session_object(ClickedCell)
    if cell.of != _name(about, view.kind, attention.layer, head):
        st.caption("Click a cell to see the products of query and key behind its score.")
        return
    own = about.explain().maps[view.kind][attention.layer]
    names = [own.query_tokens[cell.query], *([own.predicted_tokens[cell.query]] if own.predicted_tokens else [])]
    row = f" {FED_ARROW} ".join(plain(isolated(readable(name))) for name in names)
    key, weight = plain(isolated(readable(own.key_tokens[cell.key]))), float(own.weights[head, cell.query, cell.key])
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.markdown(f"**{row}** attends to **{key}**: {decimal(weight, 3)}", width="content")
        label = "Products behind it"
        st.page_link("app_pages/step_through.py", label=label, icon=":material/arrow_forward:", width="content")


def _name(about: Reading, kind: Kind, layer: int, head: int) -> object:
    return about.identity, kind, layer, head
