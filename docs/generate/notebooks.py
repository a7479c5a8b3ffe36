"""Run notebooks, and the code of pages, in this process.

It takes seconds, where a kernel for each would take a minute.
"""

import ast
import contextlib
import html
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
CODE = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)  # in a page


@dataclass(frozen=True)
class Cell:
    """A cell after it was run.

    Attributes:
        kind: "markdown" or "code".
        source: its text.
        printed: of code, its output on stdout.
        value: of code, its last expression as HTML; empty if there is none or it is None.
    """

    kind: str
    source: str
    printed: str = ""
    value: str = ""


def cells_of(path: Path) -> list[tuple[str, str]]:
    """Return kind and source of the cells of a notebook, or of a page whose blocks of Python are cells."""
    text = path.read_text("utf-8")
    if path.suffix == ".ipynb":
        return [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"]]
    return [("code", source) for source in CODE.findall(text)]


def run_notebook(path: Path) -> Iterator[Cell]:
    """Run a notebook from its first cell to its last; an error ends it, with the number of its cell."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, (kind, source) in enumerate(cells_of(path), start=1):
        if kind == "code":
            yield Cell(kind, source, *_run(source, names, f"{path.name}, cell {number}"))
        else:
            yield Cell(kind, source)


def _run(code: str, names: dict[str, Any], place: str) -> tuple[str, str]:
    """Run a cell; return its output, and its last expression as HTML."""
    tree = ast.parse(code, place)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(io.StringIO()):
        exec(compile(tree, place, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), place, "eval"), names)
    return printed.getvalue(), "" if value is None else _as_html(value)


def _as_html(value: object) -> str:
    """Return HTML of a value, as a notebook would display it."""
    if hasattr(value, "_repr_mimebundle_"):
        return value._repr_mimebundle_()[0]["text/html"]
    if hasattr(value, "savefig"):
        file = io.StringIO()
        value.savefig(file, format="svg")
        return file.getvalue()[file.getvalue().index("<svg") :]
    return f"<pre>{html.escape(repr(value))}</pre>"
