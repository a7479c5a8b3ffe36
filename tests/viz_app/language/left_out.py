"""Texts in the code of the app that are not marked for the catalogues."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
TRANSLATED = {"tr", "tr_count", "marked"}
TWO_WORDS = re.compile(r"[A-Za-z]{2,}[,:;.]? [A-Za-z]{2,}")
ONE_WORD = re.compile(r"[A-Z][a-z]+")
NO_TEXT = re.compile(
    r"[.#@]?[\w-]+\s*\{|<svg|<style|^import |^from |\n(import|from|table|def) |\b(rgba?|translate|calc|var|url)\("
    r"|^\s*[a-z-]+: [^ ]+;|^[\w-]+( [\w-]+)* (solid|bold|normal|sans-serif)|^application/|--[a-z]+ "
    r"|(^|\n)\w+(, \w+)* = |\)\.\w+[\[(]|\bfor \w+(, \w+)* in \w+\]|\] for \w+ in "
)
# Constants whose texts are data: sentences to explain, examples of input, names in old addresses.
DATA = re.compile(r"(^|_)(SENTENCES?|EXAMPLE|EARLIER)(_|$)")
# Arguments that nobody reads: keys, names of files and icons, code, and forms of numbers and dates.
UNREAD = {
    "key",
    "icon",
    "type",
    "layout",
    "format",
    "name",
    "gap",
    "sentence",
    "anchor",
    "code",
    "family",
    "hovertemplate",
}
NO_TEXTS_IN = {  # calls whose arguments nobody reads
    "re.compile", "re.fullmatch", "re.sub", "re.match", "re.search", "TypeVar", "Widget", "cast", "getattr",
    "Widget[str]", "strftime", "find_spec", "warn", "assert_never", "NamedTuple", "Literal", "script", "get_logger",
    "getLogger",
}  # fmt: skip


def left_out(path: Path) -> Iterator[tuple[int, str]]:
    """Find the lines and texts of a module that look like texts for people, and are not marked."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    yield from _search(tree, _docstrings(tree))


def _docstrings(tree: ast.AST) -> set[int]:
    """Return the identities of all strings that stand alone."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def _search(node: ast.AST, skipped: set[int]) -> Iterator[tuple[int, str]]:
    match node:
        case ast.Constant(str(text)) if id(node) not in skipped:
            if TWO_WORDS.search(text) and not NO_TEXT.search(text):
                yield node.lineno, text
        case ast.Call(function, arguments, keywords):
            name = ast.unparse(function)
            if name in TRANSLATED or name in NO_TEXTS_IN or name.rpartition(".")[2] in NO_TEXTS_IN:
                return
            if name.startswith("st.") or name == "segments":  # a single word may be a label
                for each in arguments[:1] if name == "segments" else arguments:
                    match each:
                        case ast.Constant(str(label)) if ONE_WORD.fullmatch(label):
                            yield each.lineno, label
                        case _:
                            pass
            yield from (found for each in (function, *arguments) for found in _search(each, skipped))
            yield from (found for each in keywords if each.arg not in UNREAD for found in _search(each.value, skipped))
        case ast.Assert() | ast.AnnAssign(annotation=ast.Name("TypeAlias")):
            return
        case ast.Assign([ast.Name(name)]) | ast.AnnAssign(ast.Name(name)) if DATA.search(name):
            return
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from (found for each in node.body for found in _search(each, skipped))
        case ast.AnnAssign():
            if node.value is not None:
                yield from _search(node.value, skipped)
        case _:
            yield from (found for each in ast.iter_child_nodes(node) for found in _search(each, skipped))


if __name__ == "__main__":
    import sys

    for place in sys.argv[1:] or ["viz_app"]:
        for file in sorted(Path(place).rglob("*.py")) if Path(place).is_dir() else [Path(place)]:
            for line, text in left_out(file):
                print(f"{file}:{line}: {text[:110]!r}")
