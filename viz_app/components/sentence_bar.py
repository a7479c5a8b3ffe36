"""The sentence and its translation as words, with probabilities."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
    """Return a word's name in all drawings, its side and the position of its first token, such as `target 3`."""
    side, tokens = word
    return f"{side} {tokens.start}"


def words_by_name(explanation: Explanation) -> dict[str, WordSelection]:
    """Return all words of both sentences."""
    sides: dict[Side, Sequence[str]] = {"source": explanation.source_tokens, "target": explanation.predicted_tokens}
    return {word_name((side, group)): (side, group) for side, tokens in sides.items() for group in word_groups(tokens)}


def sentence_payload(
    explanation: Explanation,
    selected: Iterable[WordSelection] = (),
    ticket: str = "",
    *,
    left_out: Collection[range] = (),
    translations: Mapping[int, str] | None = None,
    shown: int = 0,
    is_editable: bool = False,
) -> dict[str, Any]:
    """Return the data of the sentence bar, see `Data` in sentence_bar.js.

    Bytes of one character, and accents with their letter, are one piece with the product of their probabilities.

    Args:
        ticket: See `session/previews.py`.
        left_out: Positions of the source words to mark as probably left out.
        translations: Labels of all translations that were found, by index, the best first.
        shown: Index of the one in the explanation.
        is_editable: Whether the visitor can type another sentence.

    Returns:
        `source` and `target`: for each word its positions, whether it is `glued` to the word before, its reading
        direction, its pieces, and whether it is `leftOut`; `directions` of the two sentences; `selected`: names of the
        words to mark; and the arguments.
    """
    return {
        "source": _words(explanation.source_tokens, None, left_out),
        "target": _words(explanation.predicted_tokens, explanation.log_probs or None, ()),
        "directions": {"source": direction(explanation.source), "target": direction(explanation.target)},
        "selected": [word_name(word) for word in selected],
        "ticket": ticket,
        "translations": list((translations or {}).items()),
        "shown": shown,
        "editable": is_editable,
    }


def sentence_bar(
    payload: dict[str, Any],
    explanation: Explanation,
    on_words: Callable[[Sequence[WordSelection]], None],
    on_translation: Callable[[int], None],
) -> None:
    """Draw the bar on the page.

    It is on every page, so it also handles words clicked in other drawings, and redraws the page in another theme. The
    functions are called before the page runs again, with the selected words, to be passed back as `selected`, and with
    the index of the selected translation, to be passed back as `shown`.
    """

    def clicked() -> None:
        words = selected_words(st.session_state[KEY].get("words"), explanation)
        if words is not None:
            on_words(words)

    offered = dict(payload["translations"])

    def chosen() -> None:
        index = st.session_state[KEY].get("translation")
        if type(index) is int and index in offered:
            on_translation(index)

    _component(data=payload, key=KEY, on_words_change=clicked, on_translation_change=chosen, on_theme_change=listening)


def selected_words(value: object, explanation: Explanation) -> list[WordSelection] | None:
    """Return the selected words that the browser sent, in order; None if one is unknown."""
    known = words_by_name(explanation)
    match value:
        case [*names] if all(isinstance(name, str) and name in known for name in names):
            return [known[name] for name in dict.fromkeys(names)]
        case _:
            return None


def _words(
    tokens: Sequence[str], log_probs: Sequence[float] | None, left_out: Collection[range] = ()
) -> list[dict[str, Any]]:
    groups = word_groups(tokens)
    directions = [direction(label) for label in word_labels(tokens)]
    of_text = [token_role(tokens[group.start]) in ("text", "prefix") for group in groups]
    characters = list(grapheme_groups(tokens))
    spans = [unit_spans(tokens[character.start : character.stop]) for character in characters]
    pieces = {
        character.start: {"spans": each, "probability": _probability(character, log_probs)}
        for character, each in zip(characters, spans, strict=True)
    }
    return [
        {
            "start": group.start,
            "stop": group.stop,
            "glued": group.start > 0 and not tokens[group.start].startswith(SPACE_MARK) and is_of_text,
            "direction": reads,
            "leftOut": group in left_out,
            "pieces": [pieces[position] for position in group if position in pieces],
        }
        for group, reads, is_of_text in zip(groups, directions, of_text, strict=True)
    ]


def _probability(group: range, log_probs: Sequence[float] | None) -> float | None:
    """Return the probability of the tokens of a character together."""
    return None if log_probs is None else round(math.exp(sum(log_probs[group.start : group.stop])), 4)
