"""Pages of the reference, and the docstrings on them."""

import ast
from collections.abc import Iterator
from pathlib import Path

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
        for name, docstring in _documented(path.relative_to(root), ast.parse(path.read_text("utf-8")))
        if docstring
    }


def _documented(path: Path, module: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names and docstrings of a module and of its public classes, functions and methods."""
    name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
    if any(part.startswith("_") for part in name.split(".")):
        return
    yield name, ast.get_docstring(module) or ""
    for node in module.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            yield f"{name}.{node.name}", ast.get_docstring(node) or ""
            for inner in node.body if isinstance(node, ast.ClassDef) else []:
                if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_"):
                    yield f"{name}.{node.name}.{inner.name}", ast.get_docstring(inner) or ""
