"""Which output gradient x attention is asked about: the whole translation, or what is selected of it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import streamlit as st

from core.analysis.words import readable, word, word_groups
from viz_app import state
from viz_app.text import isolated

if TYPE_CHECKING:
    from core import Explanation

Output = tuple[int, ...]  # the positions of its tokens in `predicted_tokens`, in order
Choice = Literal["whole", "selected"]
CHOICES: dict[Choice, str] = {"whole": "Whole translation", "selected": "Selected output"}
MOST_NAMED = 4  # words that are called by their names
WHOLE = "the whole translation"
ABOUT = """
The gradient of the log-probability of all predicted tokens, or only of those selected: words of the translation, or the token of a decoding
step. So it says which inputs spoke for that output.
"""
NOTHING_SELECTED = "Select a word of the translation, and the gradient is of that alone."


def output_box(about: state.Reading, step: range | None) -> Output | None:
    """Let the reader choose.

    Args:
        step: the tokens of the decoding step that is looked at, if one is.

    Returns:
        None for the whole translation, which it also is while nothing of it is selected.
    """
    chosen: Choice = st.segmented_control(
        "Gradient of",
        tuple(CHOICES),
        default="whole",
        required=True,
        format_func=CHOICES.__getitem__,
        key="output",
        bind="query-params",
        label_visibility="collapsed",
    )
    if chosen == "whole":
        return None
    words = [tokens for side, tokens in state.selected_words(about) if side == "target"]
    found = tuple(sorted(position for tokens in ([step] if step else words) for position in tokens))
    if not found:
        st.caption(NOTHING_SELECTED)
    return found or None


def told(explanation: "Explanation", output: Output | None) -> str:
    """What it is called, as plain text: `the whole translation`, `\u201cHund\u201d (token 3)`; tokens are counted from 1."""
    if output is None:
        return WHOLE
    names = _names(explanation.predicted_tokens, output)
    if len(names) > MOST_NAMED:
        return f"{', '.join(names[: MOST_NAMED - 1])} and {len(names) - MOST_NAMED + 1} more words ({len(output)} tokens)"
    numbers = ", ".join(str(position + 1) for position in output)
    return f"{', '.join(names)} ({'token' if len(output) == 1 else 'tokens'} {numbers})"


def file_part(output: Output | None) -> str:
    """What the name of a file says of it; tokens are counted from 0."""
    if output is None:
        return ""
    numbers = "-".join(map(str, output)) if len(output) <= 2 * MOST_NAMED else f"{output[0]}-to-{output[-1]}-{len(output)}-tokens"
    return f"-output{numbers}"


def _names(tokens: Sequence[str], output: Output) -> list[str]:
    """The words that the tokens belong to, each only as far as it is meant."""
    names: list[str] = []
    for group in word_groups(tokens):
        if meant := [tokens[position] for position in group if position in output]:
            text = readable(word(meant)) if len(meant) == len(group) else " ".join(map(readable, meant))
            names.append(f"\u201c{isolated(text)}\u201d")
    return names
