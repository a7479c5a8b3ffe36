"""The sentence and its translation as words, with probabilities."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import streamlit as st

from core.analysis.tokens.words import grapheme_groups, word_groups, word_labels
from core.drawing.drawing_data import unit_spans
from core.text.byte_pieces import token_role
from core.text.tokenizer import SPACE_MARK
from core.translator import Explanation
from viz_app.components.component import component_beside, listening
from viz_app.drawing.display_text import direction

Side = Literal["source", "target"]
WordSelection = tuple[Side, range]  # the positions of a word's tokens in `source_tokens` or in `predicted_tokens`

KEY = "sentence_bar"

_component = component_beside(__file__)


def word_name(word: WordSelection) -> str:
    """Return the name of a word in all drawings, with its side and the position of its first token, such as `target
    3`.
    """
    side, tokens = word
    return f"{side} {tokens.start}"


def words_by_name(explanation: Explanation) -> dict[str, WordSelection]:
    """Return all words of both sentences."""
    sides: dict[Side, Sequence[str]] = {"source": explanation.source_tokens, "target": explanation.predicted_tokens}
    return {word_name((side, group)): (side, group) for side, tokens in sides.items() for group in word_groups(tokens)}


def sentence_payload(
    explanation: Explanation, selected: Iterable[WordSelection] = (), ticket: str = ""
) -> dict[str, Any]:
    """Return the data of the sentence bar, see `Data` in sentence_bar.js.

    Bytes of one character, and accents with their letter, are one piece with the product of their probabilities.

    Args:
        ticket: See `session/previews.py`.

    Returns:
        `source` and `target`: for each word its positions, whether it is `glued` to the word before, its reading
        direction and its pieces; `directions` of the two sentences; `selected`: names of the words to mark.
    """
    return {
        "source": _words(explanation.source_tokens, None),
        "target": _words(explanation.predicted_tokens, explanation.log_probs or None),
        "directions": {"source": direction(explanation.source), "target": direction(explanation.target)},
        "selected": [word_name(word) for word in selected],
        "ticket": ticket,
    }


def sentence_bar(
    explanation: Explanation,
    on_words: Callable[[Sequence[WordSelection]], None],
    *,
    selected: Iterable[WordSelection] = (),
    ticket: str = "",
    key: str = KEY,
) -> None:
    """Draw the bar on the page.

    It is on every page, so it also handles words clicked in other drawings, and redraws the page in another theme.

    Args:
        on_words: Called with the words selected after a click, before the page runs again. Pass them back as
            `selected`.
        selected, ticket: Those of `sentence_payload`.
        key: Key of the component, as for any widget.
    """

    def clicked() -> None:
        words = selected_words(st.session_state[key].get("words"), explanation)
        if words is not None:
            on_words(words)

    payload = sentence_payload(explanation, selected, ticket)
    _component(data=payload, key=key, on_words_change=clicked, on_theme_change=listening)


def selected_words(value: object, explanation: Explanation) -> list[WordSelection] | None:
    """Return the selected words that the browser sent, in order; None if one is unknown."""
    known = words_by_name(explanation)
    match value:
        case [*names] if all(isinstance(name, str) and name in known for name in names):
            return [known[name] for name in dict.fromkeys(names)]
        case _:
            return None


def _words(tokens: Sequence[str], log_probs: Sequence[float] | None) -> list[dict[str, Any]]:
    characters = {group.start: group for group in grapheme_groups(tokens)}
    return [
        {
            "start": group.start,
            "stop": group.stop,
            "glued": group.start > 0
            and not tokens[group.start].startswith(SPACE_MARK)
            and token_role(tokens[group.start]) in ("text", "prefix"),
            "direction": direction(label),
            "pieces": [_piece(tokens, characters[position], log_probs) for position in group if position in characters],
        }
        for group, label in zip(word_groups(tokens), word_labels(tokens), strict=True)
    ]


def _piece(tokens: Sequence[str], group: range, log_probs: Sequence[float] | None) -> dict[str, Any]:
    probability = None if log_probs is None else round(math.exp(sum(log_probs[group.start : group.stop])), 4)
    return {"spans": unit_spans(tokens[group.start : group.stop]), "probability": probability}
