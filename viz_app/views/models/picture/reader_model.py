"""The model of the page Read a picture, and what it has read, cached for all sessions."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from core.files.shipped_files import shipped_checkpoint
from viz_app.session.models import MODEL_HASH, Model, ModelError, model_at

if TYPE_CHECKING:
    from core.images.line_reader import LineReader
    from core.images.patches import Pixels
    from core.results import Explanation, ScoredText


SHIPPED = shipped_checkpoint("lines")


def reader_for(model: Model) -> "tuple[Model, LineReader]":
    """Return the current model if it reads pictures, else a shipped one that does.

    Raises:
        ModelError: there is none; the message says what to do.
    """
    if (reader := model.line_reader) is not None:
        return model, reader
    if SHIPPED.exists() and (reader := (shipped := model_at(SHIPPED)).line_reader) is not None:
        return shipped, reader
    raise ModelError(
        "{model} translates, it does not read pictures. Upload a checkpoint in the sidebar that was trained on "
        "pictures (see docs/pages/picture.md).",
        model=model.name,
    )


PICTURE_HASH: dict[str | type[Any], Callable[[Any], Any]] = {
    **MODEL_HASH,
    np.ndarray: lambda image: (image.shape, image.tobytes()),
}


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=PICTURE_HASH)
def read(model: Model, image: "Pixels", _reader: "LineReader") -> "tuple[ScoredText, Explanation]":
    """Read a picture and explain each character; the results of all sessions are shared.

    Raises:
        ValueError: as `LineReader.read`.
    """
    line = _reader.read(image)
    return line, _reader.explain(image, line.token_ids)
