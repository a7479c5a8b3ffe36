"""The sentence and its translation in one line: which words there are, how sure the model was of each, and which are
selected.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import streamlit as st

from core.analysis.tokens.words import grapheme_groups, is_special, word, word_groups
from core.drawing.token_spans import unit_spans
from core.tokenizer import SPACE_MARK
from core.translator import Explanation
from viz_app.components.component import component_beside, listening
from viz_app.figures.display_text import direction

Side = Literal["source", "target"]
WordSelection = tuple[Side, range]  # the positions of a word's tokens in `source_tokens` or in `predicted_tokens`

_component = component_beside(__file__)


def word_name(word: WordSelection) -> str:
    """What all drawings call a word of the sentence: its side and where its tokens begin, such as `target 3`."""
    side, tokens = word
    return f"{side} {tokens.start}"


def words_by_name(explanation: Explanation) -> dict[str, WordSelection]:
    """All words of both sentences."""
    sides: dict[Side, Sequence[str]] = {"source": explanation.source_tokens, "target": explanation.predicted_tokens}
    return {word_name((side, group)): (side, group) for side, tokens in sides.items() for group in word_groups(tokens)}


def sentence_payload(explanation: Explanation, selected: Iterable[WordSelection] = ()) -> dict[str, Any]:
    """What the browser needs to write the sentence and its translation as words.

    Returns:
        `source` and `target`: for each word the tokens' positions, whether it follows the last without a space, where
        it
        is read from, and its pieces: spans, and in the target the probability. Bytes that spell one character, and
        accents with the letter they stand on, are one piece, with the product of their probabilities. `directions`:
        where each of the two sentences is read from; `selected`: the names of the words to mark.
    """
    return {
        "source": _words(explanation.source_tokens, None),
        "target": _words(explanation.predicted_tokens, explanation.log_probs),
        "directions": {"source": direction(explanation.source), "target": direction(explanation.target)},
        "selected": [word_name(word) for word in selected],
    }


def sentence_bar(
    explanation: Explanation,
    on_words: Callable[[Sequence[WordSelection]], None],
    *,
    selected: Iterable[WordSelection] = (),
    key: str = "sentence_bar",
) -> None:
    """Draw the bar on the page.

    It is on every page, so it also answers to the words that are clicked in other drawings, and has the page drawn anew
    in another theme.

    Args:
        on_words: told which words are selected after a click, before the page runs again. Hand them back as `selected`.
        selected: the words to mark.
        key: of the component, as for any widget.
    """

    def clicked() -> None:
        words = selected_words(st.session_state[key].get("words"), explanation)
        if words is not None:
            on_words(words)

    _component(
        data=sentence_payload(explanation, selected), key=key, on_words_change=clicked, on_theme_change=listening
    )


def selected_words(value: object, explanation: Explanation) -> list[WordSelection] | None:
    """What the browser sent as the names of all selected words, in order; None if it is anything else."""
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
            and not is_special(tokens[group.start]),
            "direction": direction(word(tokens[group.start : group.stop])),
            "pieces": [_piece(tokens, characters[position], log_probs) for position in group if position in characters],
        }
        for group in word_groups(tokens)
    ]


def _piece(tokens: Sequence[str], group: range, log_probs: Sequence[float] | None) -> dict[str, Any]:
    probability = None if log_probs is None else round(math.exp(sum(log_probs[group.start : group.stop])), 4)
    return {"spans": unit_spans(tokens[group.start : group.stop]), "probability": probability}
