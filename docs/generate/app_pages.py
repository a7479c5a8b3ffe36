"""Documentation of the app's pages, from its own texts and pictures, placed between those of docs/pages."""

import ast
import contextlib
import inspect
from pathlib import Path
from typing import Any

from viz_app.language import marked
from viz_app.language.checks import value_names
from viz_app.page_list import PAGES, script_of

PAGE_VIEWS = {page.title: page.views for page in PAGES}
TEXTS = ("HOW_TO_READ", "ABOUT")  # beginnings of the names of a page's texts for its readers
BADGE = "ABOUT_BADGE"  # beside a badge, which the documentation does not have


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
    """Return the texts that the page shows to its readers, in the order of its script."""
    texts: list[str] = []
    for constant, value in _constants(root, _module(name)).items():
        if not constant.startswith(TEXTS) or constant == BADGE:
            continue
        views = value.items() if isinstance(value, dict) else [("", value)]
        for view, text in views:
            if value_names([text]):  # which only the app knows
                continue
            texts += [f"### {view}"] if view else []
            texts.append(inspect.cleandoc(text))
    return texts


def _constants(root: Path, module: str) -> dict[str, Any]:
    """Return the constants of a module without importing it, as a page draws itself when it is imported."""
    path = root.joinpath(*module.split(".")).with_suffix(".py")
    names: dict[str, Any] = {marked.__name__: marked}
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
