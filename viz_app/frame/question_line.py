"""The questions that the sentence raises, in a line below its words, each a way to the page that answers."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import NamedTuple

import streamlit as st

from viz_app.drawing.display_text import isolated, plain, shortened
from viz_app.language import quoted, tr
from viz_app.page_list import VIEWS, View
from viz_app.session import readings
from viz_app.session.readings import Reading
from viz_app.session.state import session_object

MOST_LEFT_OUT = 2  # words that are asked about; all are marked
LONGEST = 24  # characters of a word


class Question(NamedTuple):
    """A question, and the views that answer it."""

    key: str  # of its button
    text: str
    views: tuple[str, ...]
    ask: Callable[[], None]  # goes to the first view


def question_line(reading: Reading, view: View, kind: str) -> None:
    """Draw the questions that lead to other views for such a model; with one word selected, how to ask about two."""
    views = {each.name for each in VIEWS if kind in each.models}
    asked = [each for each in questions(reading) if each.views[0] in views and view.name not in each.views]
    with st.container(horizontal=True, gap="medium", vertical_alignment="center", width="content", key="questions"):
        for each in asked:
            st.button(each.text, type="tertiary", key=f"ask_{each.key}", on_click=each.ask)
        if len(readings.selected_words(reading)) == 1 and "heads" in views:
            st.caption(tr("Shift-click or hold a second word: which head links the two?"), width="content")


def quoted_word(text: str) -> str:
    """Return a word in quotation marks."""
    return quoted(plain(isolated(shortened(text, LONGEST))))


def questions(reading: Reading) -> Iterator[Question]:
    """Return questions about the selected words, or else the least probable; then about words probably left out."""
    from core.analysis.tokens.words import word
    from core.analysis.word_scores.least_probable import least_probable_token
    from viz_app.drawing.head_names import head_title
    from viz_app.session import selected_pair
    from viz_app.session.chosen_heads import ShownHeads
    from viz_app.session.questions import ask_where, ask_which_head, ask_why, ask_why_there

    def name(tokens: tuple[str, ...], group: range) -> str:
        return quoted_word(word(tokens[group.start : group.stop]))

    explanation, selected = reading.explain(), readings.selected_words(reading)
    source, target = explanation.source_tokens, explanation.predicted_tokens
    pair = selected_pair.selected_pair(reading) if len(selected) == 2 else None
    if pair is not None:
        found = selected_pair.linking_heads(reading, pair)
        texts = {"query": quoted_word(found.query_text), "key": quoted_word(found.key_text)}
        text = tr("Which head links {query} and {key}?", **texts)
        yield Question("head", text, ("heads", "corpus"), partial(ask_which_head, reading, found))
        opened = session_object(ShownHeads).first_head(reading.model.digest)
        first = opened if opened is not None and opened.kind == pair.kind else found.heads[0].head
        weights = explanation.maps[first.kind][first.layer].weights[first.head]
        cell = max(product(pair.rows, pair.keys), key=lambda each: float(weights[each]))
        text = tr("Why does {head} look from {query} at {key}?", head=head_title(first), **texts)
        yield Question("there", text, ("score_components",), partial(ask_why_there, reading, first, *cell))
    elif explanation.log_probs:
        from core.analysis.tokens.words import word_groups

        words = [group for side, group in selected if side == "target"]
        first = least_probable_token(explanation)
        group = words[-1] if words else next(each for each in word_groups(target) if first in each)
        position = min(group, key=explanation.log_probs.__getitem__)
        yield Question(
            "why", tr("Why {word}?", word=name(target, group)), ("contrast",), partial(ask_why, reading, position)
        )
    left_out = reading.left_out
    named = [group for side, group in selected if side == "source" and group in left_out]
    named_once: dict[str, range] = {}  # the first of equal words
    for group in named or left_out:
        named_once.setdefault(name(source, group), group)
    for text, group in list(named_once.items())[:MOST_LEFT_OUT]:
        text = tr("Where did {word} go?", word=text)
        yield Question(f"where_{group.start}", text, ("alignment",), partial(ask_where, reading, group))
