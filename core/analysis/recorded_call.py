"""Recorded calls: a call that has run, kept so that it can be run again and be written as a script.

A `Call` has a function and its arguments, which may be results of other calls. A page runs a call to show its result,
and makes the script beside it from the same call, so that the two cannot differ.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any, cast

NOT_RUN = object()  # in place of the result of a call that has not run


@dataclass(frozen=True, eq=False)
class Given:
    """A value that a script makes in its own way, such as a model that it opens.

    Attributes:
        name: of its variable.
        value: the value here.
        code: writes the lines that make it there; imports are lines of their own.
    """

    name: str
    value: Any
    code: Callable[[], str]


@dataclass(frozen=True, eq=False)
class Call:
    """A call of a function, or of a method of its first argument.

    Attributes:
        name: of the variable of its result in a script.
        function: one of a module, or the name of a method.
        arguments: values, `Given` values, and calls whose results are the arguments.
        keywords: the same by name.
        known: the result, if the call has run already.
    """

    name: str
    function: Callable[..., Any] | str
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    known: Any = NOT_RUN

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
    if isinstance(value, Given):
        return value.value
    if not isinstance(value, Call):
        return value
    if value.known is not NOT_RUN:
        return value.known
    if value not in results:
        arguments = [_run(each, results) for each in value.arguments]
        keywords = {name: _run(each, results) for name, each in value.keywords.items()}
        if isinstance(value.function, str):
            results[value] = getattr(arguments[0], value.function)(*arguments[1:], **keywords)
        else:
            results[value] = value.function(*arguments, **keywords)
    return results[value]


def table_script(table: Call, file: str) -> str:
    """Write a script that runs the calls, and writes the last result, a table, as a CSV file."""
    end = f"from core.analysis.csv_output import save_csv\nsave_csv({table.name}, {file!r})"
    return joined(*_parts(table), end)


def code_of(*calls: Call) -> str:
    """Lines of Python that run calls, each after those that it needs."""
    return joined(*_parts(*calls))


def _parts(*calls: Call) -> list[str]:
    written: dict[Call | Given, None] = {}
    for call in calls:
        _add(call, written)
    return [each.code() if isinstance(each, Given) else _line(each) for each in written]


def _add(value: Any, written: dict[Call | Given, None]) -> None:
    if isinstance(value, Call):
        for each in (*value.arguments, *value.keywords.values()):
            _add(each, written)
    if isinstance(value, (Call, Given)):
        written[value] = None


def _line(call: Call) -> str:
    """The assignment of a call's result, after the imports that it needs."""
    imports: set[str] = set()
    written = [_expression(each, imports) for each in call.arguments]
    keywords = [f"{name}={_expression(each, imports)}" for name, each in call.keywords.items()]
    if isinstance(call.function, str):
        function, written = f"{written[0]}.{call.function}", written[1:]
    else:
        function = _expression(call.function, imports)
    return "\n".join([*sorted(imports), f"{call.name} = {function}({', '.join(written + keywords)})"])


def _expression(value: Any, imports: set[str]) -> str:
    """Write a value as an expression of Python.

    Args:
        imports: gets the imports that the expression needs.

    Raises:
        TypeError: there is no expression for such a value.
    """
    match value:
        case Call() | Given():
            return value.name
        case FunctionType() | type():
            imports.add(f"from {value.__module__} import {value.__name__}")
            return value.__name__
        case None | bool() | int() | float() | str():
            return repr(value)
        case Path():
            imports.add("from pathlib import Path")
            return f"Path({str(value)!r})"
        case _ if dataclasses.is_dataclass(value):
            return f"{_expression(type(value), imports)}({', '.join(_fields(value, imports))})"
        case tuple() if hasattr(value, "_fields"):
            named = ", ".join(_expression(each, imports) for each in cast("tuple[Any, ...]", value))
            return f"{_expression(cast('type[Any]', type(value)), imports)}({named})"
        case tuple() if len(cast("tuple[Any, ...]", value)) == 1:
            return f"({_expression(value[0], imports)},)"
        case Mapping():
            pairs = cast("Mapping[Any, Any]", value).items()
            return f"{{{', '.join(f'{_expression(a, imports)}: {_expression(b, imports)}' for a, b in pairs)}}}"
        case Sequence() | Set():
            begin, end = {tuple: "()", list: "[]", range: "[]"}.get(type(cast("Any", value)), "{}")
            return f"{begin}{', '.join(_expression(each, imports) for each in cast('Any', value))}{end}"
        case _:
            raise TypeError(f"a script cannot have {value!r} as an argument: give numbers, texts, dataclasses or calls")


def _fields(value: Any, imports: set[str]) -> Iterator[str]:
    """The fields of a dataclass that differ from their defaults."""
    for each in dataclasses.fields(value):
        own = getattr(value, each.name)
        if each.default is dataclasses.MISSING or own != each.default:
            yield f"{each.name}={_expression(own, imports)}"


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
