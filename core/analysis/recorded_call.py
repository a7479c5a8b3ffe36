"""Recorded calls: what ran, kept so that it can be run again and be written as a script.

A `Call` has a function and its arguments, which may be results of other calls. Whoever shows a result runs a call, and
the script beside it is made from the same call: it cannot say anything else than what ran.
"""

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from core.analysis.csv_output import save_csv

NOT_RUN = object()  # in place of the result of a call that has not run


@dataclass(frozen=True, eq=False)
class Given:
    """A value that a script makes in its own way, such as a model that it opens."""

    name: str  # of its variable
    value: Any  # the value here
    # writes the lines that make it there, from the name of the variable; imports are lines of their own
    code: Callable[[str], str]


@dataclass(frozen=True, eq=False)
class Call:
    """A call of a function, or of a method of its first argument."""

    name: str  # of the variable of its result in a script; "" for a call without one, such as one that writes a file
    # one of a module, the name of a method, `.` with the name of an attribute, or `[]` for an item
    function: Callable[..., Any] | str
    arguments: tuple[Any, ...] = ()  # values, `Given` values, and calls whose results are the arguments
    keywords: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])  # the same by name
    known: Any = NOT_RUN  # the result, if the call has run already

    def returning(self, result: Any) -> "Call":
        """The same call, which has run already, with its result."""
        return dataclasses.replace(self, known=result)

    def then(self, method: str, *arguments: Any, name: str = "table", **keywords: Any) -> "Call":
        """The call of a method of the result."""
        return Call(name, method, (self, *arguments), keywords)

    def run(self) -> Any:
        """Run it, and the calls that it needs before, each of them once and none whose result is known."""
        return _run(self, {})


def _run(value: Any, results: dict[Any, Any]) -> Any:
    match value:
        case Given():
            return value.value
        case dict():
            return {key: _run(each, results) for key, each in cast("dict[Any, Any]", value).items()}
        case list() | tuple() if not hasattr(cast("Any", value), "_fields"):
            return type(cast("Any", value))(_run(each, results) for each in cast("Sequence[Any]", value))
        case Call():
            if value.known is not NOT_RUN:
                return value.known
        case _:
            return value
    if value not in results:
        arguments = [_run(each, results) for each in value.arguments]
        keywords = {name: _run(each, results) for name, each in value.keywords.items()}
        if not isinstance(value.function, str):
            results[value] = value.function(*arguments, **keywords)
        elif value.function == "[]":
            results[value] = arguments[0][arguments[1]]
        elif value.function.startswith("."):
            results[value] = getattr(arguments[0], value.function[1:])
        else:
            results[value] = getattr(arguments[0], value.function)(*arguments[1:], **keywords)
    return results[value]


def table_script(table: Call, file: str) -> str:
    """Write a script that runs the calls, and writes the last result, a table, as a CSV file."""
    return code_of(Call("", save_csv, (table, file)))


def code_of(*calls: Call | Given) -> str:
    """Lines of Python that run calls, each after those that it needs."""
    return joined(*_Writer().parts(*calls))


class _Writer:
    """Writes calls, equal ones once; another one of the same name has a number."""

    def __init__(self) -> None:
        self._names: dict[Call | Given, str] = {}
        self._written: dict[str, str] = {}  # names by the code that makes them
        self._parts: list[str] = []
        self._imports: set[str] = set()

    def parts(self, *calls: Call | Given) -> list[str]:
        for call in calls:
            self._add(call, is_last=True)
        return self._parts

    def _add(self, value: Any, is_last: bool = False) -> None:
        if isinstance(value, (list, tuple, dict)):
            inner = cast("dict[Any, Any]", value).values() if isinstance(value, dict) else cast("Sequence[Any]", value)
            for each in inner:
                self._add(each)
        if not isinstance(value, (Call, Given)) or value in self._names:
            return
        if isinstance(value, Given):
            code = value.code(value.name)
            if code not in self._written:
                self._written[code] = self._free_name(value.name)
                self._parts.append(value.code(self._written[code]))
            self._names[value] = self._written[code]
            return
        for each in (*value.arguments, *value.keywords.values()):
            self._add(each)
        self._imports = set()
        code = self._called(value)
        if isinstance(value.function, str) and value.function[0] in ".[" and not is_last:
            self._parts += sorted(self._imports)
            self._names[value] = code  # an attribute or an item needs no variable
            return
        if code not in self._written:
            self._written[code] = name = self._free_name(value.name)
            self._parts += [*sorted(self._imports), f"{name} = {code}" if name else code]
        self._names[value] = self._written[code]

    def _free_name(self, name: str) -> str:
        """The name, or with a number if others have it."""
        if not name:
            return ""
        same = sum(re.fullmatch(rf"{name}(_\d+)?", other) is not None for other in self._written.values())
        return f"{name}_{same + 1}" if same else name

    def _called(self, call: Call) -> str:
        written = [self._expression(each) for each in call.arguments]
        keywords = [f"{name}={self._expression(each)}" for name, each in call.keywords.items()]
        if not isinstance(call.function, str):
            return f"{self._expression(call.function)}({', '.join(written + keywords)})"
        if call.function == "[]":
            return f"{written[0]}[{written[1]}]"
        if call.function.startswith("."):
            return f"{written[0]}{call.function}"
        return f"{written[0]}.{call.function}({', '.join(written[1:] + keywords)})"

    def _expression(self, value: Any) -> str:
        """Write a value as an expression of Python."""
        match value:
            case Call() | Given():
                return self._names[value]
            case _ if callable(value) and hasattr(value, "__name__"):  # a function, also a cached one, or a class
                if value.__module__ != "builtins":
                    self._imports.add(f"from {value.__module__} import {value.__name__}")
                return value.__name__
            case None | bool() | int() | float() | str():
                return repr(value)
            case Path():
                self._imports.add("from pathlib import Path")
                return f"Path({str(value)!r})"
            case _ if dataclasses.is_dataclass(value):
                return f"{self._expression(type(value))}({', '.join(self._fields(value))})"
            case tuple() if hasattr(value, "_fields"):
                named = ", ".join(map(self._expression, cast("tuple[Any, ...]", value)))
                return f"{self._expression(cast('type[Any]', type(value)))}({named})"
            case tuple() if len(cast("tuple[Any, ...]", value)) == 1:
                return f"({self._expression(value[0])},)"
            case Mapping():
                pairs = cast("Mapping[Any, Any]", value).items()
                return f"{{{', '.join(f'{self._expression(a)}: {self._expression(b)}' for a, b in pairs)}}}"
            case range():
                return repr(value)
            case Sequence() | Set():
                begin, end = {tuple: "()", list: "[]"}.get(type(cast("Any", value)), "{}")
                return f"{begin}{', '.join(map(self._expression, cast('Any', value)))}{end}"
            case _:
                raise TypeError(
                    f"a script cannot have {value!r} as an argument: give numbers, texts, dataclasses or calls"
                )

    def _fields(self, value: Any) -> Iterator[str]:
        """The fields of a dataclass that differ from their defaults."""
        for each in dataclasses.fields(value):
            own = getattr(value, each.name)
            if each.default is dataclasses.MISSING or own != each.default:
                yield f"{each.name}={self._expression(own)}"


def joined(*parts: str) -> str:
    """Join parts to a script, with the imports of all in front."""
    imports: dict[str, set[str]] = {}
    lines: list[str] = []
    for line in "\n".join(filter(None, parts)).split("\n"):
        if line.startswith("from "):
            module, _, names = line.removeprefix("from ").partition(" import ")
            imports.setdefault(module, set()).update(names.split(", "))
        else:
            lines.append(line)
    head = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(imports.items())]
    return "\n".join([*head, "", *lines, ""])
