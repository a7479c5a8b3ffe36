"""The parser of the page Parsing."""

from typing import TYPE_CHECKING

from core.shipped import shipped_checkpoint
from viz_app.session.models import Model, ModelError, model_at
from viz_app.session.trees import parser_of

if TYPE_CHECKING:
    from core.parsing.parser import Parser

SHIPPED = shipped_checkpoint("parsing")


def parser_for(model: Model) -> "tuple[Model, Parser]":
    """Return the current model if it is a parser, else the shipped parsing checkpoint.

    Raises:
        ModelError: there is no parser; the message says what to do.
    """
    if (parser := parser_of(model)) is not None:
        return model, parser
    if SHIPPED.exists() and (parser := parser_of(shipped := model_at(SHIPPED))) is not None:
        return shipped, parser
    raise ModelError(
        f"{model.name} translates, it does not parse: its vocabulary has no brackets. Upload a checkpoint in the "
        f"sidebar that was trained on trees (see the README)."
    )
