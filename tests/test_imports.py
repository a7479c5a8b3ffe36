"""Imports go `viz_app -> core <- train`, and only `viz_app` knows Streamlit and Plotly. Read from the source, so new
files are covered.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FORBIDDEN = {
    "core": {"train", "viz_app", "streamlit", "plotly", "bertviz"},
    "train": {"viz_app", "streamlit", "plotly", "bertviz"},
    "viz_app": {"train"},
    "viz_app/figures": {"streamlit", "train"},
}


def imported(source: str) -> Iterator[str]:
    """Every module that a source text imports, at the top or inside a function, by its full name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide what is imported"
            yield node.module or ""
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            yield from (
                argument.value
                for argument in node.args
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
            )


@pytest.mark.parametrize(("folder", "forbidden"), FORBIDDEN.items())
def test_import_directions(folder: str, forbidden: set[str]) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files, f"{folder} has no source: was it renamed?"
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in files
        for name in imported(file.read_text("utf-8"))
        if name.split(".")[0] in forbidden
    ]
    assert wrong == []


def test_imports_are_found_wherever_they_stand() -> None:
    source = (
        "import a.b as x, c\nfrom d.e import f\ndef g():\n    import h\n    importlib.import_module('i.j')\nif "
        "0:\n    from k import *\n"
    )
    assert sorted(imported(source)) == ["a.b", "c", "d.e", "h", "i.j", "k"]
