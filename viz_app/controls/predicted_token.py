"""Selection of a predicted token, of another one, and of a measure.

The other token is compared with it; the measure is that of its probability.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from core.analysis.interventions.pair_runs import Metric
from core.analysis.tokens.words import readable
from viz_app.controls.widgets import segments
from viz_app.language import marked, tr, tr_values
from viz_app.session import readings
from viz_app.session.readings import Reading
from viz_app.session.state import Widget, is_history_navigation, put_in_address, session_object

METRIC_NAMES: dict[Metric, str] = {
    "difference": marked("Logit difference"),
    "log_prob": marked("Log-probability"),
}
ABOUT_METRIC = marked("""
The **logit difference** of two tokens is that of their log-probabilities, too; Zhang & Nanda (2023) recommend it. The
**log-probability** of the predicted token alone also falls when a third token gains.
""")
TOKEN = Widget[int]("token")  # position of the predicted token; in the address it counts from 1


@dataclass
class _Words:
    """The words that were selected when the token was."""

    words: object = ()


def token_box(about: Reading) -> int:
    """Select a predicted token; a word selected on the page selects its first token."""
    tokens = about.explain().predicted_tokens
    state, words = session_object(_Words), readings.selected_words(about)
    target = [group.start for side, group in words if side == "target"]
    if target and words != state.words:
        TOKEN.set(target[-1])
    state.words = words
    restore_position(TOKEN, len(tokens))
    TOKEN.preset_for(about.identity, lambda: _longest_token(about))
    position = st.selectbox(
        tr("Predicted token"),
        range(len(tokens)),
        format_func=lambda position: f"{position + 1} {readable(tokens[position])}",
        key=TOKEN.key,
        width=200,
        help=tr("Or click a word of the translation above."),
    )
    put_in_address(TOKEN.key, str(position + 1))
    return position


def restore_position(widget: Widget[int], count: int) -> None:
    """Set a widget that was not drawn yet to the position in the address.

    The position counts from 1, and must be one of `count`. The browser's own binding (`bind`) would write the name of
    the option instead, which has the token in it.
    """
    number = st.query_params.get(widget.key, "")
    if (widget.value is None or is_history_navigation()) and number.isdecimal() and 1 <= int(number) <= count:
        widget.set(int(number) - 1)


def _longest_token(about: Reading) -> int:
    """Position of the longest predicted token, rarely a function word.

    A forced token is not predicted.
    """
    explanation = about.explain()
    tokens, first = explanation.predicted_tokens, explanation.num_forced
    return max(range(first, max(first + 1, len(tokens) - 1)), key=lambda position: len(tokens[position]))


def alternatives(about: Reading, position: int) -> list[str]:
    """Pieces of the most probable other tokens at a position, best first.

    They are tokens that a search may generate.
    """
    explanation, translator = about.explain(), about.model.translator
    predicted, never = explanation.predicted_tokens[position], translator.search_options().excluded
    others = [str(token) for token, _ in explanation.alternatives[position] if token != predicted]
    return [piece for piece in others if translator.tokenizer.target.token_id(piece) not in never]


def alternative_box(
    about: Reading,
    position: int,
    widget: Widget[str],
    label: str,
    others: Sequence[str],
    default: str,
    help: str,
) -> str:
    """Select one of the most probable other tokens at a position.

    It is a piece, or a choice of another kind.

    Args:
        widget: its value is also in the address, unless it is the default.
        label, help: in the visitor's language.
        others: the other choices, in English.
        default: one of the pieces or of `others`.
    """
    pieces = alternatives(about, position)
    names = [*others, *(piece for piece in pieces if piece not in others)]
    if widget.value is None or is_history_navigation():
        requested = st.query_params.get(widget.key)
        widget.set(requested if requested in names else default)
    widget.keep_within(names, default)
    chosen = st.pills(
        label,
        names,
        format_func=lambda name: tr(name) if name in others else readable(name),
        required=True,
        key=widget.key,
        help=help,
    )
    chosen = chosen or default
    put_in_address(widget.key, "" if chosen == default else chosen)
    return chosen


def metric_box(key: str) -> Metric:
    """Select what is measured of the predicted token."""
    return segments(tr("Measure"), tr_values(METRIC_NAMES), "difference", key, help=tr(ABOUT_METRIC))
