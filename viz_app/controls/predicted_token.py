"""Selection of a predicted token, of another token to compare it with, and of a measure of its probability."""

from collections.abc import Callable, Hashable, Sequence

import streamlit as st

from core.analysis.interventions.pair_runs import Metric
from core.analysis.tokens.words import readable_all
from core.analysis.word_scores.least_probable import least_probable_token
from viz_app.controls.widgets import setting_menu, setting_segments
from viz_app.language import marked, tr, tr_values
from viz_app.session import address, readings
from viz_app.session.fields import Field
from viz_app.session.readings import Reading
from viz_app.session.state import session_dict

METRIC_NAMES: dict[Metric, str] = {"difference": marked("Logit difference"), "log_prob": marked("Log-probability")}
ABOUT_METRIC = marked("""
The **logit difference** of two tokens is that of their log-probabilities, too; Zhang & Nanda (2023) recommend it. The
**log-probability** of the predicted token alone also falls when a third token gains.
""")
TOKEN = address.TOKEN  # position of the predicted token; in the address it counts from 1


def token_box(about: Reading) -> int:
    """Select a predicted token, at first the least probable one; a selected word selects its first token."""
    about_it = tr("Or click a word of the translation above.")
    return preset_token_box(about, TOKEN, about.identity, lambda: least_probable_token(about.explain()), about_it)


def preset_token_box(
    about: Reading, setting: Field[int], identity: Hashable, preset: Callable[[], int], help: str, width: int = 200
) -> int:
    """Select a predicted token as `token_box`, at first that of a preset, which is of something."""
    tokens = about.explain().predicted_tokens
    before, words = session_dict("words_of_tokens"), readings.selected_words(about)
    target = [group for side, group in words if side == "target"]
    if target and words != before.get(setting.key) and setting.requested not in target[-1]:
        setting.set(target[-1].start)
    before[setting.key] = words
    setting.preset_for(identity, preset)
    return setting_menu(setting, tr("Predicted token"), numbered(tokens), width=width, help=help)


def numbered(tokens: Sequence[str]) -> dict[int, str]:
    """Return the names of tokens by their positions, counted from 1."""
    return {index: f"{index + 1} {token}" for index, token in enumerate(readable_all(tokens))}


def alternatives(about: Reading, position: int) -> list[str]:
    """Pieces of the most probable other tokens that a search may generate at a position, best first."""
    explanation, translator = about.explain(), about.model.translator
    predicted, never = explanation.predicted_tokens[position], translator.setup.options().excluded
    others = [str(token) for token, _ in explanation.alternatives[position] if token != predicted]
    return [piece for piece in others if translator.tokenizer.target.token_id(piece) not in never]


def alternative_box(
    about: Reading, position: int, setting: Field[str], label: str, others: Sequence[str], default: str, help: str
) -> str:
    """Select one of the most probable other tokens at a position, as a piece, or a choice of another kind.

    Args:
        label, help: in the visitor's language.
        others: the other choices, in English.
        default: one of the pieces or of `others`.
    """
    pieces = alternatives(about, position)
    names = dict(zip(pieces, readable_all(pieces), strict=True)) | {other: tr(other) for other in others}
    return setting.draw(
        st.pills,
        label,
        [*others, *(piece for piece in pieces if piece not in others)],
        format_func=names.__getitem__,
        required=True,
        default=default,
        help=help,
    )


def metric_box(setting: Field[Metric]) -> Metric:
    """Select what is measured of the predicted token."""
    return setting_segments(setting, tr("Measure"), tr_values(METRIC_NAMES), help=tr(ABOUT_METRIC))
