"""The cache of the site's builds is used as long as nothing changed from which a result was made."""

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

GENERATE = Path(__file__).parents[2] / "docs" / "generate"


@pytest.fixture
def build_cache(tmp_path: Path) -> Iterator[ModuleType]:
    """The module, imported as MkDocs does, with a folder of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(GENERATE)
        for name in ("build_cache", "cell_outputs", "notebooks"):
            patch.delitem(sys.modules, name, raising=False)
        module = importlib.import_module("build_cache")
        patch.setattr(module, "FOLDER", tmp_path / "cache")
        yield module


def test_a_result_is_found_again_by_what_it_was_made_from(build_cache: ModuleType) -> None:
    assert build_cache.cached("lens", "a") is None
    build_cache.save("lens", "a", {"html": "é"})
    assert build_cache.cached("lens", "a") == {"html": "é"}
    assert build_cache.cached("lens", "b") is None
    build_cache.save("lens", "b", [1])
    assert build_cache.cached("lens", "a") is None
    assert [path.name for path in build_cache.FOLDER.iterdir()] == ["lens.json"]


def test_a_damaged_result_is_made_again(build_cache: ModuleType) -> None:
    build_cache.save("lens", "a", [1])
    (build_cache.FOLDER / "lens.json").write_text('{"key": "a", "res')
    assert build_cache.cached("lens", "a") is None


def test_the_digest_of_parts_depends_on_where_they_end(build_cache: ModuleType) -> None:
    assert build_cache.digest("ab", "c") != build_cache.digest("a", "bc")
    assert build_cache.digest("a") == build_cache.digest(b"a")


def test_the_program_changes_with_its_code_files_and_checkpoints_alone(build_cache: ModuleType, tmp_path: Path) -> None:
    for path in ("core/a.py", "core/drawing/a.js", "train/b.py", "checkpoints/a.safetensors", "viz_app/c.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x = 1\n")

    def changes(path: str, text: str) -> bool:
        before = build_cache.digest_of_program(tmp_path)
        (tmp_path / path).write_text(text)
        build_cache._of_file.cache_clear()  # two changes within the resolution of the file system's clock
        return build_cache.digest_of_program(tmp_path) != before

    assert not changes("core/a.py", '"""About it."""\n\nx = 1  # a comment\n')
    assert not changes("core/a.py", '"""About it, in other words."""\n\n\nx = 1\n')
    assert not changes("viz_app/c.py", "x = 2\n")
    assert not changes("core/a.cpython-311.pyc", "x")
    assert changes("core/a.py", "x = 2\n")
    assert changes("train/b.py", "def f():\n    '''About it.'''\n    return 1\n")
    assert not changes("train/b.py", "def f():\n    '''In other words.'''\n    return 1\n")
    assert changes("core/drawing/a.js", "x = 2\n")
    assert changes("core/new.py", "")
    assert changes("checkpoints/a.safetensors", "y")


def notebook(path: Path, *cells: str) -> Path:
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": [cell]} for cell in cells]}))
    return path


def run_here(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Let the process of `CellOutputs` have this cache; return its calls."""
    calls = list[list[str]]()
    popen = subprocess.Popen
    code = f"""
import sys
sys.path.insert(0, {str(GENERATE)!r})
import build_cache, pathlib, runpy
build_cache.FOLDER = pathlib.Path({str(module.FOLDER)!r})
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

    def run(command: list[str], **options: object) -> object:
        calls.append(command)
        return popen([command[0], "-c", code, *command[1:]], **options)

    monkeypatch.setattr(subprocess, "Popen", run)
    return calls


def test_only_files_with_a_changed_cell_are_run(
    build_cache: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = run_here(build_cache, monkeypatch)
    outputs = importlib.import_module("cell_outputs").CellOutputs
    first, second = (
        notebook(tmp_path / "first.ipynb", "print(6 * 7)", "1 + 1"),
        notebook(tmp_path / "second.ipynb", "2"),
    )
    page = tmp_path / "page.md"
    page.write_text("Text.\n\n```python\nprint('page')\n```\n\n```sh\nls\n```\n")
    site_code = outputs("program", [first, second, page])
    assert [(cell.printed, cell.value) for cell in site_code.cells(first)] == [("42\n", ""), ("", "<pre>2</pre>")]
    assert [cell.printed for cell in site_code.cells(page)] == ["page\n"]
    assert len(calls) == 1

    page.write_text(page.read_text().replace("Text.", "Other text."))
    assert [cell.printed for cell in outputs("program", [first, second, page]).cells(page)] == ["page\n"]
    assert len(calls) == 1

    notebook(second, "3")
    assert [cell.value for cell in outputs("program", [first, second, page]).cells(second)] == ["<pre>3</pre>"]
    assert calls[1][3:] == [str(second)]

    outputs("another program", [first, second]).cells(first)
    assert calls[2][3:] == [str(first), str(second)]


def test_a_cell_that_fails_is_named(build_cache: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_here(build_cache, monkeypatch)
    module = importlib.import_module("cell_outputs")
    wrong = notebook(tmp_path / "wrong.ipynb", "1", "1 / 0")
    site_code = module.CellOutputs("program", [wrong])
    with pytest.raises(module.CellError, match=r"does not run; correct it or what it calls:\n(?s:.*)wrong.ipynb, cell"):
        site_code.cells(wrong)
