"""Pages of the reference, and the docstrings on them."""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from griffe import Class, Extension

REFERENCE = "reference"
PACKAGES = ("core", "train")


def module_pages(root: Path) -> dict[str, str]:
    """Return a page for each module and package directly in `PACKAGES`, by the name of its file."""
    pages: dict[str, str] = {}
    for package in PACKAGES:
        for path in sorted((root / package).iterdir()):
            if (path.is_dir() and (path / "__init__.py").exists()) or path.suffix == ".py":
                name = path.stem
                if not name.startswith("_"):
                    pages[f"{package}.{name}.md"] = f"::: {package}.{name}\n"
    return pages


def sources(root: Path, module: str) -> list[Path]:
    """Return the files of a module, or of a package and all below it."""
    path = root.joinpath(*module.split("."))
    return sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]


def docstrings(root: Path, module: str) -> dict[str, str]:
    """Return the docstrings of a module or package and of all public names in it, by their full names."""
    return {
        name: docstring
        for path in sources(root, module)
        for name, docstring in _documented(path.relative_to(root), path.read_text("utf-8"))
        if docstring
    }


def _documented(path: Path, code: str) -> Iterator[tuple[str, str]]:
    """Yield the names and docstrings of a module and of its public classes, functions and methods."""
    module, lines = ast.parse(code), code.splitlines()
    name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
    if any(part.startswith("_") for part in name.split(".")):
        return
    yield name, ast.get_docstring(module) or ""
    for node in module.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            yield f"{name}.{node.name}", with_fields(ast.get_docstring(node) or "", node, lines)
            for inner in node.body if isinstance(node, ast.ClassDef) else []:
                if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_"):
                    yield f"{name}.{node.name}.{inner.name}", ast.get_docstring(inner) or ""


def with_fields(docstring: str, node: ast.AST, lines: Sequence[str]) -> str:
    """Return the docstring of a class with the comments above and behind its fields in its section of attributes."""
    described: list[str] = []
    for field in node.body if isinstance(node, ast.ClassDef) else ():
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        first = field.lineno - 1
        while lines[first - 1].lstrip().startswith("# "):
            first -= 1
        comments = [line.strip() for line in lines[first : field.lineno - 1]]
        if field.end_lineno and (behind := re.search(r"  (# (?!pyright|type: |noqa).*)", lines[field.end_lineno - 1])):
            comments.append(behind[1])
        if comments and not field.target.id.startswith("_"):
            described.append(f"    {field.target.id}: {' '.join(line[2:] for line in comments)}.")
    if not described:
        return docstring
    before, section, after = docstring.partition("\nAttributes:\n")
    return "\n".join([before + (section or "\n\nAttributes:\n") + described[0], *described[1:], after])


class DescribedFields(Extension):
    """Puts the comments of fields into the docstrings that mkdocstrings renders."""

    def on_class_instance(self, *, node: Any, cls: Class, agent: Any, **_: Any) -> None:
        """Add those of a class, if it has a docstring."""
        if cls.docstring:
            cls.docstring.value = with_fields(cls.docstring.value, node, agent.code.splitlines())
