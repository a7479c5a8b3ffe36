"""The three models of the page Generation."""

from collections.abc import Iterator
from dataclasses import dataclass

from core.files.shipped_files import shipped_checkpoint
from viz_app.session import models
from viz_app.session.models import Model, ModelError, model_at
from viz_app.session.open_models import OpenModels
from viz_app.session.state import session_object

DRAFT, MASK_PREDICT = shipped_checkpoint("en-de-draft"), shipped_checkpoint("en-de-mask-predict")


@dataclass(frozen=True)
class ComparedModels:
    """Models of the page.

    Attributes:
        one_by_one: predicts one token after the other.
        draft: drafts for it; None if there is none with its vocabulary.
        at_once: predicts all tokens at once; None if there is none.
    """

    one_by_one: Model
    draft: Model | None
    at_once: Model | None


def compared_models(current: Model) -> ComparedModels:
    """Return the current model with open or shipped ones that fit it.

    Raises:
        ModelError: there is no model that predicts one token after the other.
    """
    one_by_one = current if current.translates else next((each for each in _open() if each.translates), None)
    one_by_one = one_by_one or model_at(models.translation_checkpoint())
    drafts = [*_open(), *_shipped(DRAFT)]
    all_at_once = [*([current] if current.mask_predicts else []), *_open(), *_shipped(MASK_PREDICT)]
    return ComparedModels(
        one_by_one,
        next((each for each in drafts if each.translates and drafts_for(each, one_by_one)), None),
        next((each for each in all_at_once if each.mask_predicts), None),
    )


def _open() -> Iterator[Model]:
    yield from session_object(OpenModels).all()


def _shipped(path: models.Path) -> list[Model]:
    try:
        return [model_at(path)]
    except ModelError:  # not in this installation
        return []


def drafts_for(model: Model, large: Model) -> bool:
    """Whether a model is smaller than another one of the same vocabulary."""
    sizes = [sum(parameter.numel() for parameter in each.translator.model.parameters()) for each in (model, large)]
    return sizes[0] < sizes[1] and model.translator.tokenizer.to_bytes() == large.translator.tokenizer.to_bytes()
