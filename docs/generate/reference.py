"""Pages of the reference, and the code by the sections of the paper that docstrings name."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

REFERENCE = "reference"
PACKAGES = ("core", "train")
# "(3.2.1)", "section 5.3 of the paper", "(section 4)": other papers are named before their sections
SECTION = re.compile(r"\((?:section )?(\d(?:\.\d){1,2}|4)\)|(?<!, )\b[Ss]ections? (\d(?:\.\d){0,2})")
HEADING = re.compile(r"^## (\d(?:\.\d){0,2}) .*$", re.MULTILINE)


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


def with_code_of_sections(root: Path, markdown: str) -> str:
    """Add links to the code of each section of the paper at the end of its text."""
    code: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        sources = {path.relative_to(root): path.read_text("utf-8") for path in sorted((root / package).rglob("*.py"))}
        for path in (path for path, source in sources.items() if SECTION.search(source)):
            for name, docstring in _documented(path, ast.parse(sources[path])):
                for section in {match[1] or match[2] for match in SECTION.finditer(docstring)}:
                    code[section].append(f"[`{name}`][{name}]")
    parts = re.split(r"(?=^## )", markdown, flags=re.MULTILINE)
    for index, part in enumerate(parts):
        heading = HEADING.match(part)
        if heading and code[heading[1]]:
            parts[index] = f"{part.rstrip()}\n\nCode: {', '.join(code[heading[1]])}\n\n"
    return "".join(parts)


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
