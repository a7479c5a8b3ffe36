"""The parser of the page Parsing, and its results."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from viz_app.session.models import MODEL_HASH, ROOT, Model, ModelError, model_at

if TYPE_CHECKING:
    from core.parsing.parser import Parse, Parser

SHIPPED = ROOT / "checkpoints" / "parsing.safetensors"


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=MODEL_HASH)
def parse(model: Model, text: str, _parser: "Parser", _progress: Callable[[int, int], None]) -> "Parse":
    """Parse a text; the results of all sessions are shared.

    Raises:
        ValueError: as `Parser.parse`.
    """
    return _parser.parse(text, progress=_progress)


def parser_for(model: Model) -> "tuple[Model, Parser]":
    """Return the current model if it is a parser, else the shipped parsing checkpoint.

    Raises:
        ModelError: there is no parser; the message says what to do.
    """
    from core.parsing.parser import NotAParserError, Parser

    try:
        return model, Parser(model.translator)
    except NotAParserError as error:
        if not SHIPPED.exists():
            raise ModelError(
                f"{model.name} translates, it does not parse: its vocabulary has no brackets. Upload a checkpoint in "
                f"the sidebar that was trained on trees (see the README)."
            ) from error
    shipped = model_at(SHIPPED)
    return shipped, Parser(shipped.translator)
