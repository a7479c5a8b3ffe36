"""A cache of the results of earlier builds, each with a digest of what it was made from."""

import ast
import functools
import hashlib
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".cache" / "docs"  # ignored by git; to make everything again, delete it
RUN_WITH = ("torch", "numpy", "matplotlib", "anywidget", "sentencepiece")  # libraries whose version may change results


def cached(name: str, key: str) -> Any | None:
    """Return the cached result of a name, or None if there is none or it was made from something else."""
    try:
        stored = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return stored["result"] if stored["key"] == key else None


def save(name: str, key: str, result: Any) -> None:
    """Cache a result that JSON can represent under a name, by the digest of what it was made from, in place of the
    earlier one.
    """
    path = FOLDER / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps({"key": key, "result": result}), "utf-8")
    unfinished.replace(path)


def digest(*parts: str | bytes) -> str:
    """Return a digest of texts and bytes, in their order."""
    summary = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        summary.update(b"%d " % len(data) + data)
    return summary.hexdigest()


def versions(*names: str) -> str:
    """Return the versions of Python and of installed libraries."""
    return " ".join((platform.python_version(), platform.machine(), *(f"{name} {version(name)}" for name in names)))


def digest_of_program(root: Path = ROOT) -> str:
    """Return a digest of all that decides what code of the documentation prints.

    This is the code of `core` and `train` without comments and docstrings, their other files, the shipped checkpoints,
    and the versions of the libraries.
    """
    folders = [path for package in ("core", "train") for path in (root / package).rglob("*")]
    files = sorted(path for path in folders if path.is_file() and path.suffix not in (".pyc", ".so"))
    parts = [f"{path.relative_to(root)} {_of_file(path, path.stat().st_mtime_ns)}" for path in files]
    parts += [
        f"{path.name} {_of_file(path, path.stat().st_mtime_ns)}"
        for path in sorted((root / "checkpoints").glob("*.safetensors"))
    ]
    return digest(versions(*RUN_WITH), *parts)


@functools.cache
def _of_file(path: Path, changed: int) -> str:
    """Return a digest of a file, of Python of its code alone, which is remembered for the time it was written."""
    data = path.read_bytes()
    return digest(_code(data) if path.suffix == ".py" else data)


def _code(source: bytes) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return ast.dump(tree)
