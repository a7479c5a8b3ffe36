"""Who parses on the page Parsing, and what has been parsed."""

from typing import TYPE_CHECKING

import streamlit as st

from viz_app.session.memory import Memory
from viz_app.session.models import ROOT, Model, ModelError, model_at

if TYPE_CHECKING:
    from core.parsing.parser import Parse, Parser

SHIPPED = ROOT / "checkpoints" / "parsing.safetensors"


@st.cache_resource(show_spinner=False)
def parses() -> "Memory[Parse]":
    """All sessions' parses, by model digest and text."""
    return Memory(64)


def parser_for(model: Model) -> "tuple[Model, Parser]":
    """The current model, if it writes trees, else the parsing checkpoint that is shipped.

    Raises:
        ModelError: there is neither; the message says what to do.
    """
    from core.parsing.parser import NotAParserError, Parser

    try:
        return model, Parser(model.translator)
    except NotAParserError as error:
        if not SHIPPED.exists():
            raise ModelError(
                f"{model.name} translates, it does not parse: its vocabulary has no brackets. Upload a checkpoint in "
                f"the sidebar "
                "that was trained on trees: the README says how."
            ) from error
    shipped = model_at(SHIPPED)
    return shipped, Parser(shipped.translator)
