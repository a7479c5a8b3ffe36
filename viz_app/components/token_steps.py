"""A translation token by token: how sure the model was of each, and what it would rather or else have written there,
to click on.
"""

import math
from collections.abc import Callable
from typing import Any

from core.analysis.tokens.edited_target import begun_word
from core.analysis.tokens.words import is_special, word
from core.drawing.token_spans import label_spans, run_spans, spoken
from core.tokenizer import SPACE_MARK
from core.translator import Explanation
from viz_app.components.component import component_beside, draw
from viz_app.figures.display_text import direction

END = "</s>"  # the only special token that may be written
# a position, a text, and whether a person has typed it; otherwise it is one of the alternatives there
OptionChoice = tuple[int, str, bool]

_component = component_beside(__file__)


def steps_payload(
    explanation: Explanation, num_forced: int = 0, step: int | None = None, problem: tuple[int, str, str] | None = None
) -> dict[str, Any]:
    """What the browser needs to write the translation with its alternatives.

    Args:
        num_forced: how many of the first tokens were forced.
        step: the position to look into; by default that of the least probable token.
        problem: where a typed word was refused, the word, and why.

    Returns:
        `tokens`: for each position its spans, its name as it is read aloud, whether no space is before it, the letters
        `begun` that a typed word would go on from, its log-probability and probability, and its `options`, the most
        probable first: token, spans, name, log-probability, probability, and whether it is the one that was written,
        which comes last if it is none of them. What a search never writes is left out. `direction`: where the whole is
        read from.
    """
    least = min(range(len(explanation.log_probs)), key=explanation.log_probs.__getitem__)
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
                        "token": name,
                        "spans": label_spans(name),
                        "name": spoken(name),
                        "written": name == token,
                        **_numbers(value),
                    }
                    for name, value in _options(token, log_prob, explanation.alternatives[position])
                ],
            }
            for position, (token, log_prob) in enumerate(
                zip(explanation.predicted_tokens, explanation.log_probs, strict=True)
            )
        ],
        "direction": direction(explanation.target),
        "forced": num_forced,
        "step": least if step is None else step,
        "problem": None if problem is None else dict(zip(("position", "text", "message"), problem, strict=True)),
    }


def token_steps(
    explanation: Explanation,
    on_choice: Callable[[OptionChoice], None],
    *,
    num_forced: int = 0,
    step: int | None = None,
    problem: tuple[int, str, str] | None = None,
    key: str = "token_steps",
) -> None:
    """Draw it on the page.

    Args:
        on_choice: told what was clicked or typed, before the page runs again.
        num_forced, step, problem: as for `steps_payload`.
        key: of the component, as for any widget.
    """
    payload = steps_payload(explanation, num_forced, step, problem)
    draw(_component, payload, key, "choice", lambda value: chosen_option(value, explanation), on_choice)


def chosen_option(value: object, explanation: Explanation) -> OptionChoice | None:
    """What the browser sent as an option of a position or as a word for it, or None if there is no such thing."""
    match value:
        case {"position": int(position), "token": str(token)} if 0 <= position < len(explanation.predicted_tokens):
            names = [
                name
                for name, _ in _options(explanation.predicted_tokens[position], 0.0, explanation.alternatives[position])
            ]
            return (position, token, False) if token in names else None
        case {"position": int(position), "text": str(text)} if 0 <= position < len(explanation.predicted_tokens):
            return position, text, True
        case _:
            return None


def _begun(tokens: tuple[str, ...], position: int) -> str:
    pieces = begun_word(tokens, position)
    return str(word(tokens[pieces.start : pieces.stop])) if pieces else ""


def _options(written: str, log_prob: float, alternatives: tuple[tuple[str, float], ...]) -> list[tuple[str, float]]:
    found = [(token, value) for token, value in alternatives if token == END or not is_special(token)]
    return found if any(token == written for token, _ in found) else [*found, (written, log_prob)]


def _numbers(log_prob: float) -> dict[str, float]:
    return {"logProb": round(log_prob, 3), "probability": round(math.exp(log_prob), 4)}
