"""Texts of Streamlit's uploader in other languages."""

import ast
import re
from functools import cache

import pytest

from viz_app.controls.uploader_texts import css_string
from viz_app.session.models import ROOT


def calls(name: str) -> set[tuple[str, str, str]]:
    """Key, limit in megabytes, and whether several files are taken, of all calls of a function in the app."""
    names = {"key": "", "megabytes": "None", "max_upload_size": "None", "several": "False"}
    found: set[tuple[str, str, str]] = set()
    for node in all_calls():
        if ast.unparse(node.func).rpartition(".")[2] == name:
            given = dict(zip(("key", "megabytes"), map(ast.unparse, node.args), strict=False))
            given = {} if name == "file_uploader" else given
            given = names | given | {str(each.arg): ast.unparse(each.value) for each in node.keywords}
            several = given.get("accept_multiple_files", given["several"])
            limit = given["max_upload_size"] if name == "file_uploader" else given["megabytes"]
            found.add((given["key"], limit, several))
    return found


@cache
def all_calls() -> list[ast.Call]:
    """The calls in the modules of the app that have an uploader."""
    sources = (path.read_text(encoding="utf-8") for path in sorted((ROOT / "viz_app").rglob("*.py")))
    trees = [ast.parse(source) for source in sources if "uploader" in source]
    return [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]


def test_the_texts_of_every_uploader_are_translated() -> None:
    assert len(calls("file_uploader")) >= 7
    assert calls("uploader_texts") == calls("file_uploader")


@pytest.mark.parametrize("text", ['a "b" \\ </style><b>', "per\nfile; } *{}", "파일당 5MB 이하", "每个文件"])
def test_a_string_of_css_is_its_text_and_ends_nothing(text: str) -> None:
    written = css_string(text)
    assert not set(written[1:-1]) & set("\"<>\n{};'")
    assert re.sub(r"\\([0-9a-f]+) ", lambda code: chr(int(code[1], 16)), written[1:-1]) == text
