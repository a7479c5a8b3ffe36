"""A model's passes over a source and a target, and its parses, shared by all sessions."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from viz_app.session.models import MODEL_HASH, Model

if TYPE_CHECKING:  # torch takes a second to import: the sentence box is drawn before
    from core import Explanation, ScoredText
    from core.analysis.attribution.methods import Method
    from core.analysis.heads.head import Maps
    from core.parsing.parser import Parse, Parser

Output = tuple[int, ...]  # the positions of its tokens in `predicted_tokens`, in order


def explanation(model: Model, source: str, target: "str | tuple[int, ...]") -> "Explanation":
    """Return the model's pass over a source and a target, or the content of an array file.

    Raises:
        ValueError: as `Translator.explain`.
    """
    return model.explanation or _explanation(model, source, target)


@st.cache_resource(max_entries=12, show_spinner=False, hash_funcs=MODEL_HASH)  # one of 512 tokens takes 150 MB
def _explanation(model: Model, source: str, target: "str | tuple[int, ...]") -> "Explanation":
    return model.translator.explain(source, target)


@st.cache_resource(max_entries=12, show_spinner=False, hash_funcs=MODEL_HASH)
def iteration(
    model: Model, source: str, ids: tuple[tuple[int, ...], tuple[int, ...]], _hypothesis: "ScoredText"
) -> "Explanation":
    """Return the model's pass over mask-predict's last iteration; ids are the hypothesis's, and those that were fed."""
    from core.mask_predict_translation import explain_iteration

    return explain_iteration(model.translator, source, _hypothesis)


def method_maps(
    model: Model, source: str, target: "str | tuple[int, ...]", method: "Method", output: "Output | None" = None
) -> "Maps":
    """Return the maps of one attribution method for a source and any target.

    Args:
        output: the predicted tokens that the gradient is of; None: all, as for every other method.

    Raises:
        ValueError: as `Translator.explain`; `output` with another method than the gradient, or not of this target.
        DisagreementError: the method cannot be applied to this model.
        ModelError: there is no model, and the method needs one.
    """
    if output is not None and method != "gradient":
        raise ValueError(f"output is {output} with the method {method!r}: only 'gradient' takes an output")
    if method == "attention":
        return explanation(model, source, target).maps
    return _computed_maps(model, source, target, method, output)


@st.cache_resource(max_entries=12, show_spinner=False, hash_funcs=MODEL_HASH)
def _computed_maps(
    model: Model, source: str, target: "str | tuple[int, ...]", method: "Method", output: "Output | None"
) -> "Maps":
    from core.analysis.attribution.methods import attributed_maps
    from core.analysis.attribution.rollout import attention_rollout

    if model.explanation is not None and method == "rollout":
        return attention_rollout(model.explanation.maps)
    return attributed_maps(model.translator, source, target, method, output)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=MODEL_HASH)
def parse(model: Model, text: str, _parser: "Parser", _progress: Callable[[int, int], None]) -> "Parse":
    """Parse a text.

    Raises:
        ValueError: as `Parser.parse`.
    """
    return _parser.parse(text, progress=_progress)
