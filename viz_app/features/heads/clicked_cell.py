"""The cell of a large map that was clicked last, and the way to the products behind its score."""

from dataclasses import dataclass
from functools import partial

import streamlit as st

from core.analysis.heads.head import Head
from core.analysis.joint import JointMap
from core.analysis.tokens.words import readable
from core.capture import KINDS, AttentionMap, Kind
from core.drawing.token_spans import FED_ARROW
from viz_app.components import word_links
from viz_app.components.attention_data import ClickedWeights, OnCell
from viz_app.features.heads.heads_view import HeadsView
from viz_app.figures.display_text import decimal, isolated, plain
from viz_app.session.readings import Reading, TokenView
from viz_app.session.state import session_object
from viz_app.session.step_place import StepPlace


@dataclass
class ClickedCell:
    """The cell of a session.

    Attributes:
        of: identity of the reading, and the head; None before the first click.
        query, key: positions of its tokens.
    """

    of: object = None
    query: int = 0
    key: int = 0

    def select(self, about: Reading, head: Head, tokens: TokenView, row: int, column: int) -> None:
        """Select a cell, of words with several tokens the largest weight, and lead the page Step by step there."""
        places = word_links.positions(about.explain(), head.kind, tokens.words, tokens.hide_special)
        weights = about.explain().maps[head.kind][head.layer].weights[head.head]
        pairs = [(query, key) for query in places["query"][row] for key in places["key"][column]]
        self.query, self.key = max(pairs, key=lambda pair: float(weights[pair]))
        self.of = about.identity, head
        session_object(StepPlace).lead_to_score(head, self.query, self.key)


def on_cell(about: Reading, view: HeadsView, attention: AttentionMap) -> OnCell | None:
    """Return what a click on a cell of a map does; None for a map that no scores are behind, or no model."""
    if attention.layer < 0 or view.weights.method != "attention" or about.model.explanation is not None:
        return None
    return partial(_click, about, view, attention.layer)


def _click(about: Reading, view: HeadsView, layer: int, clicked: ClickedWeights) -> None:
    (head, *_), row, column = clicked
    if row is not None and column is not None:
        session_object(ClickedCell).select(about, Head(view.kind, layer, head), view.tokens, row, column)


def on_joint_cell(about: Reading, joint: JointMap, tokens: TokenView, layer: int, head: int) -> OnCell:
    """Return what a click on a cell of a joint map of one head does: nothing where it has no attention."""

    def click(clicked: ClickedWeights) -> None:
        _, row, column = clicked
        kind, row, column = joint_cell(joint, row or 0, column or 0)
        if kind is not None and kind not in joint.missing:
            session_object(ClickedCell).select(about, Head(kind, layer, head), tokens, row, column)

    return click


def joint_cell(joint: JointMap, row: int, column: int) -> tuple[Kind | None, int, int]:
    """Return the kind of attention of a cell, None if there is none, and its row and column in the map of that kind."""
    if row < joint.source_rows:
        kind: Kind | None = "encoder_self" if column < joint.source_columns else None
        return kind, row, column
    if column < joint.source_columns:
        return "cross", row - joint.source_rows, column
    return "decoder_self", row - joint.source_rows, column - joint.source_columns


def link(about: Reading, layer: int, head: int, kinds: tuple[Kind, ...] = KINDS) -> None:
    """Draw the cell of a map and the link to the products behind it, or say how to get there.

    Args:
        kinds: of the map.
    """
    cell = session_object(ClickedCell)
    kind: Kind | None = next((kind for kind in kinds if cell.of == (about.identity, Head(kind, layer, head))), None)
    if kind is None:
        st.caption("Click a cell to see the products of query and key behind its score.")
        return
    own = about.explain().maps[kind][layer]
    names = [own.query_tokens[cell.query], *([own.predicted_tokens[cell.query]] if own.predicted_tokens else [])]
    row = f" {FED_ARROW} ".join(plain(isolated(readable(name))) for name in names)
    key, weight = plain(isolated(readable(own.key_tokens[cell.key]))), float(own.weights[head, cell.query, cell.key])
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.markdown(f"**{row}** attends to **{key}**: {decimal(weight, 3)}", width="content")
        label = "Products behind it"
        st.page_link("app_pages/step_through.py", label=label, icon=":material/arrow_forward:", width="content")
