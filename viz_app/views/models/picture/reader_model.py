"""The model of the page Read a picture."""

from typing import TYPE_CHECKING

from core.files.shipped_files import shipped_checkpoint
from viz_app.language import tr
from viz_app.session.models import Model, ModelError, model_at

if TYPE_CHECKING:
    from core.images.line_reader import LineReader

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
        tr(
            "{model} translates, it does not read pictures. Upload a checkpoint in the sidebar that was trained on "
            "pictures (see docs/pictures.md).",
            model=model.name,
        )
    )
