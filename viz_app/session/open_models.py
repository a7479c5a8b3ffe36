"""The models that a visitor has open, and which of them the pages are about."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from viz_app.session import models, readings
from viz_app.session.models import Model
from viz_app.session.state import forget_model


class MissingFile(NamedTuple):
    """A file that an address is about: the first digits of its digest, and its name."""

    digits: str
    name: str


@dataclass
class OpenModels:
    """The models of a session besides the one that the app starts with.

    Only they keep a model that the visitor has opened: when the last session closes it, its memory is free.
    """

    opened: dict[str, Model] = field(default_factory=dict[str, Model])  # by digest, in the order of opening
    current: str = ""  # digest of the model that the pages are about; "" for the one that the app starts with
    named: str = ""  # name of the shipped checkpoint that is shown, unless it is the first; or ""
    selected: str = ""  # name of the shipped checkpoint that was selected and is to be opened, or ""
    # the file that the address names and that the session lacks; None if there is none
    missing: "MissingFile | None" = None

    def model(self) -> Model:
        """Return the current model.

        Raises:
            ModelError: the app starts with none, and none is open.
        """
        return self.opened.get(self.current) or models.shipped_model()

    @property
    def has_attention_only(self) -> bool:
        """Whether the current one is attention without a model."""
        model = self.opened.get(self.current)
        return model is not None and model.explanation is not None

    def all(self) -> list[Model]:
        """Return all open models, the one that the app starts with first, if there is one."""
        try:
            return [models.shipped_model(), *self.opened.values()]
        except models.ModelError:
            return list(self.opened.values())

    def add(self, model: Model, show: bool = True) -> None:
        """Keep a model open and, with `show`, make it the current one."""
        digest = model.digest
        if digest not in (each.digest for each in self.all()):
            self.opened[digest] = replace(model)  # of this session's own, to be released
        if show:
            self.show(digest)

    def show(self, digest: str) -> None:
        """Make an open model the current one: all pages are about its best translation.

        A file that was missing is not any more.
        """
        self.current, self.missing = digest if digest in self.opened else "", None
        readings.new_sentence()

    def close(self, digest: str) -> None:
        """Close a model that the visitor has opened; if it was the current one, show the one the app starts with."""
        from core.files.process_memory import return_freed_memory

        model = self.opened.pop(digest, None)
        if self.current == digest:
            self.show("")
        forget_model(digest)
        if model is not None:
            model.release()
            return_freed_memory()


def distinct_names(models: Sequence[Model]) -> dict[str, str]:
    """Name models by digest; those of one name are told apart by the first digits of their digests."""
    names = [model.name for model in models]
    return {
        model.digest: model.name if names.count(model.name) == 1 else f"{model.name} ({model.digest[:4]})"
        for model in models
    }
