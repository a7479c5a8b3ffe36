"""Inlining of imported JavaScript modules and style sheets, for pages that cannot fetch other files.

Such pages are the components of the app, and the exported page.
"""

import re
from pathlib import Path

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "(\.[^"]*)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:(?:async )?function|const|class) (\w+))", re.MULTILINE)
_KEYWORD = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
_IMPORT_KEYWORD = re.compile(r"^import\b.*", re.MULTILINE)
_TYPES = re.compile(r"^/\*\* @import .* \*/\n", re.MULTILINE)  # JSDoc, for the type checker
_STYLE_IMPORT = re.compile(r'^@import "(\.[^"]*)";\n', re.MULTILINE)


def bundled_script(path: Path) -> str:
    """Return a JavaScript module and all modules that it imports as one.

    Each imported module becomes a function that runs once and returns its exports, so its other names stay private.

    Raises:
        ValueError: A module has another import than `import { a, b } from "./c.js";`, or an imported one another
            export than one in front of a function, a constant or a class.
    """
    modules: dict[Path, tuple[str, str]] = {}  # name and text, in the order in which they run
    entry = _linked(path.resolve(), modules)
    return "".join(text for _, text in modules.values()) + entry


def bundled_style(path: Path) -> str:
    """Return a style sheet with its `@import "./a.css";` lines replaced, each once."""
    return _inlined_style(path.resolve(), set())


def _linked(path: Path, modules: dict[Path, tuple[str, str]]) -> str:
    """Return a module with constants for its imports, and add the modules that it imports to `modules`."""

    def constants(match: re.Match[str]) -> str:
        imported = (path.parent / match[2]).resolve()
        if imported not in modules:
            text = _linked(imported, modules)
            exports = ", ".join(_EXPORT.findall(text))
            body = _checked(imported, _EXPORT.sub("", text), _KEYWORD)
            name = f"module{len(modules)}"
            modules[imported] = name, f"const {name} = (() => {{\n{body}return {{ {exports} }};\n}})();\n"
        return f"const {match[1]} = {modules[imported][0]};\n"

    text = _TYPES.sub("", path.read_text(encoding="utf-8"))
    return _checked(path, _IMPORT.sub(constants, text), _IMPORT_KEYWORD)


def _checked(path: Path, text: str, forbidden: re.Pattern[str]) -> str:
    if match := forbidden.search(text):
        raise ValueError(f"{path.name}: cannot inline {match[0]!r}: write a named import or export")
    return text


def _inlined_style(path: Path, inlined: set[Path]) -> str:
    if path in inlined:
        return ""
    inlined.add(path)
    text = path.read_text(encoding="utf-8")
    return _STYLE_IMPORT.sub(lambda match: _inlined_style((path.parent / match[1]).resolve(), inlined), text)
