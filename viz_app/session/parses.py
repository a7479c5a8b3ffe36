"""Parse trees of sentences, cached for all sessions."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from viz_app.session.models import MODEL_HASH, Model

if TYPE_CHECKING:
    from core.parsing.parser import Parse, Parser


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=MODEL_HASH)
def parse(model: Model, text: str, _parser: "Parser", _progress: Callable[[int, int], None]) -> "Parse":
    """Parse a text; the results of all sessions are shared.

    Raises:
        ValueError: as `Parser.parse`.
    """
    return _parser.parse(text, progress=_progress)
