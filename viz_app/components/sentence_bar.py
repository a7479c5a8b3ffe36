"""The sentence and its translation in one line: which words there are, how sure the model was of each, and which is selected."""

import math
from collections.abc import Sequence
from typing import Any, Literal

from core.analysis.words import grapheme_groups, is_special, word, word_groups
from core.tokenizer import SPACE_MARK
from core.translator import Explanation
from viz_app.components.component import component_beside, listening
from viz_app.components.labels import unit_spans
from viz_app.text import direction

Side = Literal["source", "target"]
WordSelection = tuple[Side, range]  # the positions of a word's tokens in `source_tokens` or in `predicted_tokens`

_component = component_beside(__file__)


def sentence_payload(explanation: Explanation, selected: WordSelection | None = None) -> dict[str, Any]:
    """What the browser needs to write the sentence and its translation as words.

    Returns:
        `source` and `target`: for each word the tokens' positions, whether it follows the last without a space, where it
        is read from, and its pieces: spans, and in the target the probability. Bytes that spell one character, and accents
        with the letter they stand on, are one piece, with the product of their probabilities. `directions`: where each of
        the two sentences is read from; `selected`: side and start of the word to mark.
    """
    return {
        "source": _words(explanation.source_tokens, None),
        "target": _words(explanation.predicted_tokens, explanation.log_probs),
        "directions": {"source": direction(explanation.source), "target": direction(explanation.target)},
        "selected": {"side": selected[0], "start": selected[1].start} if selected else None,
    }


def sentence_bar(explanation: Explanation, *, selected: WordSelection | None = None, key: str = "sentence_bar") -> WordSelection | None:
    """Draw the bar on the page, and tell which word was clicked. It is on every page, so it also has the page drawn anew in another theme.

    Args:
        selected: the word to mark; any position inside it will do.
        key: of the component, as for any widget.

    Returns:
        The word that was clicked just now, else None. Keep it and hand it back as `selected`: the bar remembers nothing.
    """
    result = _component(data=sentence_payload(explanation, selected), key=key, on_word_change=listening, on_theme_change=listening)
    return clicked_word(result.get("word"), explanation)


def clicked_word(value: object, explanation: Explanation) -> WordSelection | None:
    """What the browser sent as a word of the sentence, or None if there is no such word."""
    match value:
        case {"side": "source" | "target" as side, "start": int(start)}:
            tokens = explanation.source_tokens if side == "source" else explanation.predicted_tokens
            return next(((side, group) for group in word_groups(tokens) if group.start == start), None)
        case _:
            return None


def _words(tokens: Sequence[str], log_probs: Sequence[float] | None) -> list[dict[str, Any]]:
    characters = {group.start: group for group in grapheme_groups(tokens)}
    return [
        {
            "start": group.start,
            "stop": group.stop,
            "glued": group.start > 0 and not tokens[group.start].startswith(SPACE_MARK) and not is_special(tokens[group.start]),
            "direction": direction(word(tokens[group.start : group.stop])),
            "pieces": [_piece(tokens, characters[position], log_probs) for position in group if position in characters],
        }
        for group in word_groups(tokens)
    ]


def _piece(tokens: Sequence[str], group: range, log_probs: Sequence[float] | None) -> dict[str, Any]:
    probability = None if log_probs is None else round(math.exp(sum(log_probs[group.start : group.stop])), 4)
    return {"spans": unit_spans(tokens[group.start : group.stop]), "probability": probability}
