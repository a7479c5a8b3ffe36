"""The parser of the page Parsing."""

from typing import TYPE_CHECKING

from core.files.shipped_files import shipped_checkpoint
from viz_app.session.models import Model, ModelError, model_at
from viz_app.session.open_models import OpenModels
from viz_app.session.state import session_object

if TYPE_CHECKING:
    from core.parsing.parser import Parser

SHIPPED = shipped_checkpoint("parsing")


def parser_for(model: Model) -> "tuple[Model, Parser]":
    """Return the current model if it is a parser, else an open one, or else the shipped parsing checkpoint.

    Raises:
        ModelError: there is no parser; the message says what to do.
    """
    for each in (model, *session_object(OpenModels).all()):
        if (parser := each.parser) is not None:
            return each, parser
    if SHIPPED.exists() and (parser := (shipped := model_at(SHIPPED)).parser) is not None:
        return shipped, parser
    raise ModelError(
        "{model} translates, it does not parse: its vocabulary has no brackets. Open a checkpoint in the sidebar "
        "that was trained on trees (see docs/pages/parsing.md).",
        model=model.name,
    )
