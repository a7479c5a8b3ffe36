"""The scores and deletion curves of a reading, and the selected alternative and methods."""

import streamlit as st

from core.analysis.attribution.contrast_methods import METHODS, ContrastAttribution, ContrastMethod, attribute_contrast
from core.analysis.attribution.faithfulness import Curves, deletion_curves
from core.analysis.tokens.words import axis_groups
from core.decoding import Progress
from viz_app.controls.predicted_token import alternative_box, alternatives
from viz_app.figures.contrast import METHOD_NAMES
from viz_app.session import word_selection
from viz_app.session.readings import READING_HASH, Reading, TokenView
from viz_app.session.state import Widget

RATHER = Widget[str]("rather_than")  # a piece, or the one below
NOTHING = "nothing"
METHOD_HELP = """
**Integrated gradients** (Sundararajan et al. 2017): the gradient, integrated from unknown tokens to the sentence.
**Occlusion** (Zeiler & Fergus 2014): the change when the token is made unknown. **Value zeroing** (after Mohebbi et
al. 2023): the change when no head can read the token. **Gradient \u00d7 input** (Yin & Neubig 2022): the gradient at
the sentence itself. These four are in nats, and negative where a token speaks for B.

**Attention**, **Norms**, **Rollout** and **ALTI** are shares of the decoder row. They are the same for every B and
cannot be negative.
"""


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=READING_HASH)
def attributed(about: Reading, position: int, against: int | None, _progress: Progress | None) -> ContrastAttribution:
    """Return the scores of all methods.

    Raises:
        ValueError, RuntimeError: as `attribute_contrast`.
    """
    source, target = about.translation.source, about.hypothesis.token_ids
    return attribute_contrast(about.model.translator, source, target, position, against=against, progress=_progress)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=READING_HASH)
def curves(about: Reading, position: int, against: int | None, _found: ContrastAttribution) -> Curves:
    """Return the deletion curves of all methods.

    Raises:
        ValueError: as `deletion_curves`.
    """
    return deletion_curves(_found)


def scores_part(found: ContrastAttribution) -> str:
    """Compute the scores in Python as `found`, after `reading_part`."""
    contrast = found.contrast
    return f"""
from core.analysis.attribution.contrast_methods import attribute_contrast
found = attribute_contrast(translator, source, target, {contrast.position}, against={contrast.against})""".strip()


def against_box(about: Reading, position: int) -> int | None:
    """Select B, at first the most probable other token; None for the predicted token alone."""
    pieces = alternatives(about, position)
    default = pieces[0] if pieces else NOTHING
    if RATHER.value not in (None, NOTHING):
        RATHER.preset_for((about.identity, position), lambda: default)
    chosen = alternative_box(
        about,
        position,
        RATHER,
        "rather than",
        (NOTHING,),
        default,
        "The most probable other tokens at this position. Without one, the probability of the predicted token alone is "
        "explained, and with it all that favours any token here.",
    )
    return None if chosen == NOTHING else about.model.translator.tokenizer.target.token_id(chosen)


def row_words(about: Reading, position: int, tokens: TokenView) -> list[str]:
    """Name the word of the sentence that each row of the bars belongs to, "" for `<s>`."""
    explanation = about.explain()
    source, fed = (word_selection.links(explanation, kind, tokens)["key"] for kind in ("cross", "decoder_self"))
    prefix = axis_groups(explanation.fed_tokens[: position + 1], tokens.words, tokens.hide_special)
    return [*source, *fed[: len(prefix)]]


def methods_box() -> list[ContrastMethod]:
    """Select the methods to show."""
    chosen = st.pills(
        "Methods",
        METHODS,
        selection_mode="multi",
        default=METHODS,
        format_func=METHOD_NAMES.__getitem__,
        key="contrast_methods",
        bind="query-params",
        help=METHOD_HELP,
    )
    return [method for method in METHODS if method in chosen] or list(METHODS)
