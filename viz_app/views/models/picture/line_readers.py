"""Lines of text read from pictures, cached for all sessions."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from viz_app.session.models import MODEL_HASH, Model

if TYPE_CHECKING:
    from core.images.line_reader import LineReader
    from core.images.patches import Pixels
    from core.results import Explanation, ScoredText

PICTURE_HASH: dict[str | type[Any], Callable[[Any], Any]] = {
    **MODEL_HASH,
    np.ndarray: lambda image: (image.shape, image.tobytes()),
}


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=PICTURE_HASH)
def read(model: Model, image: "Pixels", _reader: "LineReader") -> "tuple[ScoredText, Explanation]":
    """Read a picture and explain each character.

    The results of all sessions are shared.

    Raises:
        ValueError: as `LineReader.read`.
    """
    line = _reader.read(image)
    return line, _reader.explain(image, line.token_ids)
