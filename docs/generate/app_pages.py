"""Documentation of the app's pages, from its own texts and pictures, placed between those of docs/pages."""

import ast
import contextlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.analysis import panels
from core.analysis.declaration import Analysis
from viz_app.language import marked
from viz_app.language.checks import value_names
from viz_app.page_list import PAGES, script_of
from viz_app.session import address

PAGE_VIEWS = {page.title: page.views for page in PAGES}
TEXTS = ("HOW_TO_READ", "ABOUT")  # beginnings of the names of a page's texts for its readers
BADGE = "ABOUT_BADGE"  # beside a badge, which the documentation does not have
KIND_OF_PART = re.compile("_(list|note|panel|part|view)$")  # in the name of a module


def with_reading_help(root: Path, name: str, markdown: str) -> str:
    """Add the page's picture and its texts before the first section."""
    beginning, section, rest = markdown.partition("\n## ")
    parts = [beginning.rstrip()]
    if (root / "docs" / "pages" / f"{name}.png").exists():
        parts.append(f"![The page in the app]({name}.png)")
    if texts := _texts(root, name):
        parts += ["## How to read it", *texts]
    return "\n\n".join(parts) + "\n" + section + rest


def _texts(root: Path, name: str) -> list[str]:
    """Return the texts that a page, its parts and its panels show to their readers."""
    texts: list[str] = []
    script = _module(name)
    imported: list[str] = [script]
    for module in imported:  # which grows
        imported += [each for each in _parts(root, module) if each not in imported]
        found = [text for text in _texts_of(root, module) if text not in texts]
        if found and module != script:
            title = KIND_OF_PART.sub("", module.rpartition(".")[2]).replace("_", " ")
            texts.append(f"### {title[0].upper()}{title[1:]}")
        texts += found
        if module == panels.__name__:
            texts += map(_panel, panels.PANELS)
    return texts


def _panel(analysis: Analysis) -> str:
    """Return the section of a panel, from its declaration."""
    how_to_read = inspect.cleandoc(analysis.how_to_read)
    command = f"`python -m core {analysis.name}`: {analysis.about}. Formula: `{analysis.__module__}`."
    return f"### {analysis.title}\n\n{how_to_read}\n\n{command}"


def _texts_of(root: Path, module: str) -> Iterator[str]:
    """Yield the texts of a module for readers, in the order of its script."""
    for constant, value in _constants(root, module).items():
        if not constant.startswith(TEXTS) or constant == BADGE:
            continue
        views = value.items() if isinstance(value, dict) else [("", value)]
        for view, text in views:
            if not value_names([text]):  # which only the app knows
                yield f"### {view}\n\n{inspect.cleandoc(text)}" if view else inspect.cleandoc(text)


def _parts(root: Path, module: str) -> Iterator[str]:
    """Yield the modules that a module of a page imports, those of views and that of the panels."""
    path = root.joinpath(*module.split(".")).with_suffix(".py")
    for node in ast.parse(path.read_text("utf-8")).body:
        name = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        if isinstance(node, ast.ImportFrom) and name.startswith(("viz_app.views.", panels.__name__)):
            for each in (name, *(f"{name}.{alias.name}" for alias in node.names)):
                if root.joinpath(*each.split(".")).with_suffix(".py").exists():
                    yield each


def _constants(root: Path, module: str) -> dict[str, Any]:
    """Return the constants of a module without importing it, as a page draws itself when it is imported."""
    path = root.joinpath(*module.split(".")).with_suffix(".py")
    names: dict[str, Any] = {marked.__name__: marked, "address": address}
    for node in ast.parse(path.read_text("utf-8")).body if path.exists() else []:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("viz_app."):
            wanted = {alias.name for alias in node.names if alias.name.isupper()}
            imported = _constants(root, str(node.module)) if wanted else {}
            names |= {name: imported[name] for name in wanted & imported.keys()}
        elif isinstance(node, ast.Assign) and all(map(_is_marked, _calls(node))):
            with contextlib.suppress(NameError):  # made from something that is no constant
                exec(compile(ast.Module([node], []), module, "exec"), names)
    return names


def _calls(node: ast.AST) -> list[ast.Call]:
    return [each for each in ast.walk(node) if isinstance(each, ast.Call)]


def _is_marked(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == marked.__name__


def _module(name: str) -> str:
    return "viz_app." + script_of(name).removesuffix(".py").replace("/", ".")
