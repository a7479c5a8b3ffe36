"""Declaration of an analysis: a function, a dataclass of its options, and a result that knows its table and picture.

From a declaration come the command (`python -m core NAME`, whose arguments are the fields of the options), its panel in
the app with a widget and a field of the address for each option that has a label (`viz_app.controls.analysis_panel`),
its section in the documentation, with `core.analysis.recorded_call` the script that repeats a call, and the call from
Python. `core/analysis/heads/row_entropy.py` is the shortest example:

    row_entropy = Analysis("row-entropy", "print how widely each token of each head attends", _measured, Options, ...)
    row_entropy(translator, "A dog runs.").show()
"""

import argparse
import dataclasses
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Union, cast, get_args, get_origin, get_type_hints

from core.analysis.csv_output import write_csv
from core.analysis.pictures import Picture
from core.analysis.pictures_data import PicturePage
from core.analysis.recorded_call import Call
from core.analysis.subject import EXPLAINED, SENTENCE, Sentence, Subject, explained, piece_id
from core.files.console import show
from core.files.number_range import COUNTED_FROM_1
from core.files.tabular import Tabular
from core.trace import Head
from core.translator import Translator

Columns = Mapping[str, Sequence[object]]  # of equal length, by name


FIRST = Head("cross", 0, 0)


class Result(Protocol):
    """A result of an analysis; it may also have a method `summary`, whose text the command prints on stderr."""

    def table(self) -> Columns:
        """The numbers, one row for each; layers, heads and positions are counted from 0."""
        ...


class PicturedResult(Tabular, ABC):
    """A result that is drawn wherever it is shown."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__repr__ = PicturedResult.__repr__  # a dataclass keeps one that is there

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.answer(FIRST)}>"

    def _repr_html_(self) -> str | None:
        page = self.show()
        return page._repr_html_() if page.pictures else None  # pyright: ignore[reportPrivateUsage]

    @abstractmethod
    def table(self) -> Columns:
        """The numbers, one row for each; layers, heads and positions are counted from 0."""

    def pictures(self, at: Head) -> Sequence[Picture]:
        """What is drawn while a head is selected; nothing where the table or a drawing of its own shows all."""
        return ()

    @abstractmethod
    def answer(self, at: Head) -> str:
        """What the pictures show, in one sentence."""

    def show(self, at: Head = FIRST) -> PicturePage:
        """Draw it in a notebook, as for a selected head."""
        return PicturePage(self.answer(at), self.pictures(at))


# --- options --------------------------------------------------------------------------------------------------------


def option(
    default: Any = dataclasses.MISSING,
    help: str | None = None,
    *,
    label: str = "",
    metavar: str | tuple[str, ...] | None = None,
    flag: str | None = None,
    choices: Sequence[Any] | None = None,
    from_1: bool = False,
    group: str | None = None,
    parse: Callable[[Any], Any] | None = None,
    read: Callable[[Sentence, Any], Any] | None = None,
    type: Callable[[str], Any] | None = None,
) -> Any:
    """Field of a dataclass of options, which is also an argument of the command line.

    A `bool` is a flag, a `tuple[..., ...]` takes several values, and a `Literal` has its values as choices. Without a
    default, the argument is required.

    Args:
        help: of the command line; a default that it does not name is added.
        label: of its widget in the app, marked for translation; "" for an option of the command line alone.
        metavar: name of the value there; by default that of a number, a file or a piece.
        flag: short name, such as `-o`.
        choices: allowed values, where the type does not say.
        from_1: whether the index, which the field counts from 0, is counted from 1 on the command line.
        group: name of a group of which the command line takes one at most; one exactly if it ends with `!`.
        parse: turns the value of the command line into that of the field, before a model is opened.
        read: the same once it is open, with the subject of the analysis, such as `predicted_position`.
        type: of the command line's value, where it is not that of the field; of a number, its range.
    """
    settings = {
        "help": help,
        "label": label,
        "metavar": metavar,
        "flag": flag,
        "choices": choices,
        "from_1": from_1,
        "group": group,
        "parse": parse,
        "read": read,
        "type": COUNTED_FROM_1 if from_1 else type,
    }
    if default is dataclasses.MISSING:
        return dataclasses.field(metadata=settings, kw_only=True)
    return dataclasses.field(default=default, metadata=settings, kw_only=True)


# --- the declaration ------------------------------------------------------------------------------------------------


def print_table(result: Result, _options: object) -> None:
    """Print the table of a result as CSV, and its summary, if it has one, on stderr."""
    write_csv(result.table())
    if summary := getattr(result, "summary", None):
        show(summary())


@dataclass(frozen=True)
class Analysis:
    """An analysis."""

    name: str  # of its command
    about: str  # summary, as a sentence without a capital and a full stop
    function: Callable[..., Result]  # takes the subject and its options, and returns a `Result`
    options: type[Any]  # dataclass, each field an `option`; one that the subject's arguments have too has their value
    subject: Subject = SENTENCE  # kind of its subject
    write: Callable[[Any, Any], None] = print_table  # prints the result, or a file, for the command
    title: str = ""  # of its panel, marked for translation, as `how_to_read`; "" without a panel
    how_to_read: str = ""

    def __post_init__(self) -> None:
        """Take the place of the function: a script imports the analysis from there, by the name of its command."""
        object.__setattr__(self, "__module__", self.function.__module__)
        object.__setattr__(self, "__name__", self.name.replace("-", "_"))

    def __call__(self, *about: Any, **options: Any) -> Any:
        """The result of the function.

        Args:
            about: its subject. In place of an explanation: a translator and a text, and a translation if it is not the
                model's own.
            options: by their names.

        Raises:
            ValueError: as the function.
        """
        if self.subject is EXPLAINED and isinstance(about[0], Translator):
            about = (explained(*about),)
        return self.function(*about, self.options(**options))

    @property
    def command(self) -> tuple[str, Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], None]]:
        """Summary, arguments and function of the command."""
        return self.about, self.add_arguments, self.run

    def call(self, *arguments: Any, **options: Any) -> Call:
        """The call as `result`, to be run and to be written as a script.

        Args:
            arguments: the subject and, of an analysis that has no panel, the options.
            options: those that are not at their defaults.
        """
        return Call("result", self if self.title else self.function, arguments, options)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments of the subject and of the options."""
        self.subject.add_arguments(parser)
        known = {action.dest for action in parser._actions}  # pyright: ignore[reportPrivateUsage]
        types_of, groups = get_type_hints(self.options), dict[str, Any]()
        for each in dataclasses.fields(self.options):
            if each.name in known:
                continue
            place: Any = parser
            if group := each.metadata["group"]:
                if group not in groups:
                    groups[group] = parser.add_mutually_exclusive_group(required=group.endswith("!"))
                place = groups[group]
            names = [each.metadata["flag"]] if each.metadata["flag"] else []
            place.add_argument(*names, "--" + each.name.replace("_", "-"), **_settings(each, types_of[each.name]))

    def run(self, arguments: argparse.Namespace) -> None:
        """Run the analysis for a command line, and write its result.

        Raises:
            ValueError: an option or the subject is invalid.
            OSError: a file cannot be read.
        """
        fields = {each.name: each.metadata for each in dataclasses.fields(self.options)}
        values = {name: _parsed(getattr(arguments, name), settings) for name, settings in fields.items()}
        about = self.subject.open(arguments)
        for name, settings in fields.items():
            if values[name] is not None and settings["read"] is not None:
                values[name] = settings["read"](about, values[name])
        options = self.options(**values)
        self.write(self.function(*about, options), options)


def _parsed(value: Any, settings: Mapping[str, Any]) -> Any:
    if value is None:
        return None
    if isinstance(value, list):
        value = tuple(cast("list[Any]", value))
    if settings["from_1"]:
        value -= 1
    return value if settings["parse"] is None else settings["parse"](value)


def _settings(field: "dataclasses.Field[Any]", kind: Any) -> dict[str, Any]:
    """Keyword arguments of `add_argument` for a field."""
    default, settings = field.default, field.metadata
    if settings["from_1"] and isinstance(default, int):
        default += 1
    if kind is bool:
        return {"action": "store_true", "help": settings["help"]}
    keywords: dict[str, Any] = {name: settings[name] for name in ("help", "metavar", "choices") if settings[name]}
    keywords |= {"required": True} if default is dataclasses.MISSING else {"default": default}
    if get_origin(kind) in (Union, types.UnionType):  # of a type and None
        kind = next(each for each in get_args(kind) if each is not type(None))
    if get_args(kind)[1:] == (...,):
        kind, keywords["nargs"] = get_args(kind)[0], "+"
    if settings["read"] is piece_id:
        keywords.setdefault("metavar", "PIECE")
    kind = settings["type"] or kind
    if get_origin(kind) is Literal:
        keywords.setdefault("choices", get_args(kind))
    elif kind is not str:
        keywords["type"] = kind
    return keywords
