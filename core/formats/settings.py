"""Settings from the untrusted JSON files of a checkpoint."""

from collections.abc import Callable, Collection
from typing import Any, cast

from core.files.budget import MAX_SETTINGS_BYTES, shown
from core.files.strict_json import json_object
from core.formats.checkpoint import CheckpointError
from core.formats.source_files import SourceFiles
from core.formats.untrusted_parameters import errors_of


class Settings:
    """A JSON object, or a part of it, whose values are checked as they are read.

    Raises:
        CheckpointError: from every method, for a value of another type than expected.
    """

    def __init__(self, file_name: str, values: dict[str, Any]) -> None:
        self.file_name = file_name
        self.values = values

    @classmethod
    def read(cls, files: SourceFiles, name: str, limit: int = MAX_SETTINGS_BYTES) -> "Settings":
        """Settings in a file of at most `limit` bytes; none if there is no such file."""
        if name not in files.names:
            return cls(name, {})
        with errors_of(f"{files.label}: {name} is not JSON"):
            return cls(name, json_object(files.read(name, limit)))

    def integer(self, name: str, default: int | None = None) -> int:
        return cast("int", self._checked(name, default, int, "an integer"))

    def number(self, name: str, default: float) -> float:
        return float(cast("float", self._checked(name, default, (int, float), "a number")))

    def switch(self, name: str, default: bool) -> bool:
        return cast("bool", self._checked(name, default, bool, "true or false"))

    def text(self, name: str, default: str | None = None) -> str:
        return cast("str", self._checked(name, default, str, "a text"))

    def choice(self, name: str, known: Collection[str], default: str | None = None) -> Any:
        """A text that is one of those known."""
        if (value := self.text(name, default)) not in known:
            expected = " or ".join(known) if len(known) < 3 else f"one of {', '.join(known)}"
            raise CheckpointError(f"{self.file_name}: {name} is {value!r:.60}, expected {expected}")
        return value

    def section(self, name: str) -> "Settings":
        """Settings inside these, none if there is no such section."""
        return Settings(f"{self.file_name}: {name}", cast("dict[str, Any]", self._checked(name, {}, dict, "options")))

    def vocabulary(self, size: int, written: Callable[[str], str] = str) -> list[str]:
        """Pieces by their id, each as `written` gives it, from an object with the id of each.

        Those of `size` ids that have none get an unused one.
        """
        pieces: list[str | None] = [None] * size
        for piece, token_id in self.values.items():
            if isinstance(token_id, bool) or not isinstance(token_id, int) or not 0 <= token_id < size:
                raise CheckpointError(
                    f"{self.file_name}: the id of {piece!r:.60} is {shown(token_id)}, expected an integer from 0 to "
                    f"{size - 1}, as the model has {size} tokens"
                )
            if pieces[token_id] is not None:
                raise CheckpointError(f"{self.file_name}: {pieces[token_id]!r:.60} and {piece!r:.60} have the same id")
            pieces[token_id] = piece
        return [f"<unused {number}>" if piece is None else written(piece) for number, piece in enumerate(pieces)]

    def refuse(self, wrong: dict[str, object]) -> None:
        """Refuse options that change the computation of a model, unless they have or imply the only supported value."""
        for name, known in wrong.items():
            if self.values.get(name, known) not in (known, None):
                raise CheckpointError(
                    f"{self.file_name}: {name} is {shown(self.values[name])}, and Headlight imports only models with "
                    f"{known!r}"
                )

    def _checked(self, name: str, default: object, kind: type | tuple[type, ...], words: str) -> object:
        value = self.values.get(name)
        value = default if value is None else value
        if value is None:
            raise CheckpointError(f"{self.file_name} has no {name}: expected {words}")
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            raise CheckpointError(f"{self.file_name}: {name} is {shown(value)}, expected {words}")
        return value
