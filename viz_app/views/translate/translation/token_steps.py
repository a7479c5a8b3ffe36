"""A translation token by token, with probabilities and alternatives, and the preview of the page."""

import math
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import streamlit as st

from core.analysis.sample_fan import KeptTokens
from core.analysis.tokens.edited_target import begun_word
from core.analysis.tokens.next_words import Pieces, WordOption, next_words
from core.analysis.tokens.words import is_special, word
from core.analysis.word_scores.least_probable import least_probable_token
from core.drawing.drawing_data import label_spans, run_spans, spoken
from core.text.byte_pieces import token_role
from core.text.tokenizer import SPACE_MARK
from core.translator import Explanation
from viz_app.components.attention_lines import lines_payload
from viz_app.components.component import component_beside, draw
from viz_app.controls.widgets import page_theme
from viz_app.drawing.display_text import direction
from viz_app.session import chosen_heads, previews, word_selection
from viz_app.session.readings import READING_HASH, Reading, TokenView

EXAMPLE, EXAMPLE_HEIGHT = "example_head", 420  # key and pixels of the head that the page draws as an example
WHOLE_WORDS = TokenView(words=True, hide_special=True)


def offer_preview() -> None:
    """Offer the page's drawings for other sentences, see `session/previews.py`."""
    theme = page_theme()

    def drawings(other: Reading) -> dict[str, Any]:
        layer, head = chosen_heads.default_head(other.explain().maps["cross"])
        links = word_selection.links(other.explain(), "cross", WHOLE_WORDS)
        attention = other.maps("cross", WHOLE_WORDS)[layer]
        example = lines_payload(attention, [head], theme, height=EXAMPLE_HEIGHT, links=links)
        return {KEY: steps_payload(other.explain(), words_at(other)), EXAMPLE: example}

    previews.offer("translation", drawings)


WRITTEN = ("text", "end")  # roles of the tokens that a search writes
# a position, a text, and whether it was typed; otherwise it is one of the alternatives there, a word by its tokens
OptionChoice = tuple[int, str | Pieces, bool]
Words = Mapping[range, tuple[WordOption, ...]]
Forbidden = Set[tuple[int, str]]  # positions and alternatives that the search may not write
Doubt = tuple[int, str]  # a position, and an alternative there: why not this?

KEY = "token_steps"
TOLERANCE = 1e-4  # of log-probabilities that two passes have computed, in nats

MOST_TOKENS = 100  # of a translation whose words are looked up

_component = component_beside(__file__)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=READING_HASH)
def words_at(reading: Reading) -> Words:
    """Return the words at each place of a translation, if the model writes one after the other and it is not long."""
    translator, token_ids = reading.model.translator, reading.hypothesis.token_ids
    is_known = translator.config.autoregressive and len(token_ids) < MOST_TOKENS
    return next_words(translator, reading.translation.source, token_ids) if is_known else {}


def steps_payload(
    explanation: Explanation,
    words: Words | None = None,
    num_forced: int = 0,
    step: int | None = None,
    problem: tuple[int, str, str] | None = None,
    forbidden: Forbidden = frozenset(),
    kept: Sequence[KeptTokens] | None = None,
) -> dict[str, Any]:
    """Return a translation with its alternatives, see `Data` in token_steps.js.

    Args:
        words: Options at the positions of each word; without them tokens alone are shown.
        num_forced: Number of forced tokens at the start.
        step: Position selected first; by default that of the least probable word.
        problem: Position, text and error message of a typed word that was refused.
        kept: For each position the tokens that samples are drawn from; None: nothing is sampled.

    Returns:
        `tokens`: for each position its spans, its `name` for screen readers, whether it is `glued` to the token before,
        the letters `begun` that a typed word continues, and its `options`, most probable first. Tokens that a search
        never writes are left out; the written token is added last if it is not among the alternatives. `words`: the
        same for each word, from its `first` position to its `last`. `direction`: reading direction of the translation.
    """

    def is_kept(position: int, name: str, log_prob: float) -> bool:
        if kept is None:
            return True
        is_early_end = token_role(name) == "end" and (position, name) in forbidden  # before the minimum length
        return log_prob >= kept[position].least - TOLERANCE and not is_early_end

    return {
        "tokens": [
            {
                "spans": run_spans(token),
                "name": spoken(token),
                "glued": position == 0 or not (token.startswith(SPACE_MARK) or is_special(token)),
                "begun": _begun(explanation.predicted_tokens, position),
                **_numbers(log_prob),
                "options": [
                    {
                        "choice": (at := {"position": position, "token": name}),
                        "at": at,
                        "spans": label_spans(name),
                        "name": spoken(name),
                        "written": name == token,
                        "forbidden": (position, name) in forbidden,
                        "kept": is_kept(position, name, value),
                        **_numbers(value),
                    }
                    for name, value in _options(explanation, position).items()
                ],
            }
            for position, (token, log_prob) in enumerate(
                zip(explanation.predicted_tokens, explanation.log_probs, strict=True)
            )
        ],
        "words": [_word(explanation, at.start, options, forbidden) for at, options in (words or {}).items()],
        "direction": direction(explanation.target),
        "forced": num_forced,
        "kept": None if kept is None else [[each.count, round(each.mass, 3)] for each in kept],
        "step": least_probable_token(explanation) if step is None else step,
        "problem": None if problem is None else dict(zip(("position", "text", "message"), problem, strict=True)),
    }


def _word(explanation: Explanation, start: int, words: Sequence[WordOption], forbidden: Forbidden) -> dict[str, Any]:
    """Return a word and its options. A single token can be forbidden or, of an alternative there, asked about."""
    others = dict(explanation.alternatives[start])
    written = next(each for each in words if each.is_written)

    def option(number: int, word: WordOption) -> dict[str, Any]:
        token = word.tokens[0]
        is_one = len(word.tokens) == 1 if word is written else token in others and token != written.tokens[0]
        return {
            "choice": {"position": start, "word": number},
            "at": {"position": start, "token": token} if is_one else None,
            "spans": [(word.text, "")] if word.text else label_spans(token),
            "name": word.text or spoken(token),
            "written": word is written,
            "forbidden": not forbidden.isdisjoint(enumerate(word.tokens, start)),
            "kept": True,
            "bound": f"{word.probability:.2f}" != f"{word.probability + word.missing:.2f}",
            **_numbers(math.log(max(word.probability, math.ulp(0)))),
        }

    options = [option(number, each) for number, each in enumerate(words)]
    return {"first": start, "last": start + len(written.tokens) - 1, "options": options}


def token_steps(
    explanation: Explanation,
    words: Words,
    on_choice: Callable[[OptionChoice], None],
    on_doubt: Callable[[Doubt], None],
    on_ban: Callable[[int], None],
    **options: Any,
) -> None:
    """Draw the translation, with the options of `steps_payload`.

    Before the page runs again, `on_choice` is called with the selected or typed word, `on_doubt` with the alternative
    that is asked about, and `on_ban` with the position whose token is forbidden.
    """

    def read(value: object) -> OptionChoice | None:
        return chosen_option(value, explanation, words)

    def asked() -> None:
        value = read(st.session_state[KEY].get("why"))
        if value is not None and not value[2] and isinstance(value[1], str):
            on_doubt((value[0], value[1]))

    def banned() -> None:
        value = read(st.session_state[KEY].get("forbid"))
        if value is not None and not value[2] and value[1] == explanation.predicted_tokens[value[0]]:
            on_ban(value[0])

    payload, others = steps_payload(explanation, words, **options), {"on_why_change": asked, "on_forbid_change": banned}
    draw(_component, payload, KEY, "choice", read, on_choice, **others)


def chosen_option(value: object, explanation: Explanation, words: Words) -> OptionChoice | None:
    """Return the option or typed word that the browser sent, or None if invalid."""
    match value:
        case {"position": int(position), "token": str(token)} if 0 <= position < len(explanation.predicted_tokens):
            return (position, token, False) if token in _options(explanation, position) else None
        case {"position": int(position), "text": str(text)} if 0 <= position < len(explanation.predicted_tokens):
            return position, text, True
        case {"position": int(position), "word": int(number)}:
            options = next((options for at, options in words.items() if at.start == position), ())
            chosen = options[number] if 0 <= number < len(options) else None
            return chosen and (position, (*chosen.token_ids, *chosen.end), False)
        case _:
            return None


def _begun(tokens: tuple[str, ...], position: int) -> str:
    pieces = begun_word(tokens, position)
    return str(word(tokens[pieces.start : pieces.stop])) if pieces else ""


def _options(explanation: Explanation, position: int) -> dict[str, float]:
    options = {name: value for name, value in explanation.alternatives[position] if token_role(name) in WRITTEN}
    options.setdefault(explanation.predicted_tokens[position], explanation.log_probs[position])
    return options


def _numbers(log_prob: float) -> dict[str, float]:
    return {"logProb": round(log_prob, 3), "probability": round(math.exp(log_prob), 4)}
