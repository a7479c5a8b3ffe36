"""Texts in the code of the app that are not marked for the catalogues.

Two words in a row are a text almost anywhere. A single word is one where the app shows it: in calls that draw, as the
value of `label=` and its like, and in constants of names.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
TRANSLATED = {"tr", "tr_count", "tr_lower", "marked", "RefusedError", "ModelError"}
TWO_WORDS = re.compile(r"[A-Za-z]{2,}[,:;.]? [A-Za-z]{2,}")
ONE_WORD = re.compile(r"[A-Z][a-z]+")
# in an f-string, with \0 in place of its values
BESIDE_VALUE = re.compile(r"\0[:,;]? (?!(MB|ms)\b)[A-Za-z]{2,}|(?<![\w-])[A-Za-z]{2,}[:,]? \0")
WORD_IN_HTML = re.compile(r'\b(title|aria-label|alt|placeholder)="[A-Z][a-z]+|>[A-Z][a-z]+<')
ATTRIBUTE = re.compile(r'(<\w+)?\s(class|style|id|role|href|src)="[^"]*"?')  # of HTML: not for people
NO_TEXT = re.compile(
    r"[.#@]?[\w-]+\s*\{|<svg|<style|^import |^from |\n(import|from|table|def) |\b(rgba?|translate|calc|var|url)\("
    r"|^\s*[a-z-]+: [^ ]+;|^[\w-]+( [\w-]+)* (solid|bold|normal|sans-serif)|^application/|--[a-z]+ "
    r"|^\.[\w-]+ \w+$"
    r"|(^|\n)\w+(, \w+)* = |\)\.\w+[\[(]|\bfor \w+(, \w+)* in \w+\]|\] for \w+ in |\n    for \w+, "
    r"|^(const|window|Object)\b|^(Noto|DejaVu|Headlight) |(sans-serif|monospace)$|@\w+\.\w"
    r"|^<!doctype|<(th|td|table|meta|script)\b"
    r"|\b\w+=$|# or \.npz|default-src"
    # messages for programmers, and the name of a model in several files
    r"|is not one of the languages|makes a page of an unknown form|only 'gradient' takes an output|^\0 files$"
)
# Constants whose texts are data: sentences to explain, examples of input, names in old addresses, and of fonts.
DATA = re.compile(r"(^|_)(SENTENCES?|EXAMPLES?|EARLIER|FONTS)(_|$)|^SHIPPED$")
# Arguments that nobody reads: keys, names of files and icons, code, and forms of numbers and dates.
UNREAD = {
    "key", "icon", "type", "layout", "format", "name", "gap", "sentence", "anchor", "code", "family", "hovertemplate",
    "loc", "textcoords", "textposition",
}  # fmt: skip
DRAWINGS = {"drawing", "components", "figures", "svg_to_pdf", "fonts"}  # modules, or folders of them
NO_TEXTS_IN = {  # calls whose arguments nobody reads
    "re.compile", "re.fullmatch", "re.sub", "re.match", "re.search", "TypeVar", "Widget", "cast", "getattr",
    "Widget[str]", "strftime", "find_spec", "warn", "assert_never", "NamedTuple", "Literal", "script", "get_logger",
    "getLogger", "table_part",
}  # fmt: skip
# calls with messages for whoever runs the app or calls the function, which are in English
FOR_OPERATORS = {
    "SettingError", "RuntimeError", "TypeError", "KeyError", "ArgumentParser", "add_argument", "error_page",
    "PlainTextResponse", "parser.error",
}  # fmt: skip
SHOWN_AS = {"label", "help", "title", "alt", "placeholder", "caption", "text", "unit", "hint", "start"}  # arguments
DRAWING = {  # methods that draw a text, of `st` or of any place on a page
    "badge", "button", "caption", "checkbox", "download_button", "error", "expander", "file_uploader", "info",
    "link_button", "markdown", "metric", "multiselect", "number_input", "page_link", "pills", "popover", "progress",
    "radio", "segmented_control", "select_slider", "selectbox", "slider", "spinner", "subheader", "success", "tabs",
    "text", "text_area", "text_input", "toggle", "warning", "write", "segments", "setting_segments", "draw",
    "LineGroup", "menu", "setting_menu", "text_button", "way_to",
}  # fmt: skip
NAMES = re.compile(r"(^|_)(NAMES|TEXTS|TITLES|LABELS|CHOICES|ABOUT)$")  # constants of texts by key
NO_LANGUAGE = {"Python", "Headlight", "Pharaoh", "Streamlit"}  # names that are the same everywhere
ENGLISH_FILES = (
    "viz_app/session/python_code.py", "viz_app/session/environment.py", "viz_app/language/",
    "viz_app/server/unused_files.py", "viz_app/session/address",
)  # fmt: skip


def left_out(path: Path) -> Iterator[tuple[int, str]]:
    """Find the lines and texts of a module that look like texts for people, and are not marked."""
    if path.resolve().relative_to(ROOT).as_posix().startswith(ENGLISH_FILES):
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    # Errors of drawings are for programmers, those of others for visitors. The script of a component lies beside it.
    is_drawing = DRAWINGS & {*path.with_suffix("").parts} or path.with_suffix(".js").exists()
    errors = _errors(nodes) if is_drawing else set[int]()
    yield from _search(tree, _skipped(nodes) | errors)


def texts_in(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Find the lines and texts of code that look like texts for people, and are not marked."""
    yield from _search(tree, _skipped(ast.walk(tree)))


def _errors(nodes: Iterable[ast.AST]) -> set[int]:
    """Return the identities of all nodes of errors."""
    raised = (node for node in nodes if isinstance(node, ast.Raise))
    return {id(each) for node in raised for each in ast.walk(node)}


def _skipped(nodes: Iterable[ast.AST]) -> set[int]:
    """Return the identities of all strings that stand alone, or are compared with."""
    found: set[int] = set()
    for node in nodes:
        match node:
            case ast.Expr(ast.Constant() as alone):
                found.add(id(alone))
            case ast.Compare(left, _, others):
                found |= {id(each) for each in (left, *others)}
            case _:
                pass
    return found


def _search(node: ast.AST, skipped: set[int]) -> Iterator[tuple[int, str]]:
    match node:
        case ast.Constant(str(text)) if id(node) not in skipped:
            shown = ATTRIBUTE.sub(" ", text)
            if (TWO_WORDS.search(shown) and not NO_TEXT.search(shown)) or WORD_IN_HTML.search(text):
                yield node.lineno, text
        case ast.JoinedStr(parts) if id(node) not in skipped:
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "\0" for part in parts)
            shown = ATTRIBUTE.sub(" ", text)
            if (TWO_WORDS.search(shown) or BESIDE_VALUE.search(shown)) and not NO_TEXT.search(shown):
                yield node.lineno, text.replace("\0", "{}")
            values = (part for part in parts if isinstance(part, ast.FormattedValue))
            yield from (found for each in values for found in _search(each.value, skipped))
        case ast.Call(function, arguments, keywords):
            name = _name(function)
            method = name.rpartition(".")[2]
            if not {name, method}.isdisjoint(TRANSLATED | NO_TEXTS_IN | FOR_OPERATORS):
                return
            if name.startswith("st.") or method in DRAWING:
                shown_ones = arguments[:1] if method == "segments" else arguments  # its options have names elsewhere
                yield from (found for each in shown_ones for found in _single_words(each))
            legend = {"name"} if name.startswith("go.") else set[str]()  # the name of a line
            shown_as, unread = SHOWN_AS | legend, UNREAD - legend
            yield from (found for each in keywords if each.arg in shown_as for found in _single_words(each.value))
            yield from (found for each in (function, *arguments) for found in _search(each, skipped))
            yield from (found for each in keywords if each.arg not in unread for found in _search(each.value, skipped))
        case ast.Subscript(ast.Name("Literal")) | ast.Name() | ast.Attribute(ast.Name()) | ast.expr_context():
            return
        case ast.Assert() | ast.AnnAssign(annotation=ast.Name("TypeAlias")):
            return
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from (found for each in node.body for found in _search(each, skipped))
        case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, ast.expr() as value):
            if not DATA.search(name):
                if NAMES.search(name):
                    yield from _single_words(value)
                yield from _search(value, skipped)
        case ast.AnnAssign():
            if node.value is not None:
                yield from _search(node.value, skipped)
        case _:
            yield from (found for each in ast.iter_child_nodes(node) for found in _search(each, skipped))


def _name(function: ast.expr) -> str:
    """Return the code of a function that is called."""
    match function:
        case ast.Name(name):
            return name
        case ast.Attribute(ast.Name(owner), method):  # as most are: `ast.unparse` takes long
            return f"{owner}.{method}"
        case _:
            return ast.unparse(function)


def _single_words(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Find single words that are shown: constants, alternatives, elements of lists, and values of dictionaries."""
    match node:
        case ast.Constant(str(text)) if ONE_WORD.fullmatch(text) and text not in NO_LANGUAGE:
            yield node.lineno, text
        case ast.IfExp(_, one, other):
            yield from (found for each in (one, other) for found in _single_words(each))
        case ast.Dict(_, elements) | ast.List(elements) | ast.Tuple(elements):
            yield from (found for each in elements for found in _single_words(each))
        case _:
            pass


if __name__ == "__main__":
    import sys

    for place in sys.argv[1:] or ["viz_app"]:
        for file in sorted(Path(place).rglob("*.py")) if Path(place).is_dir() else [Path(place)]:
            for line, text in left_out(file):
                print(f"{file}:{line}: {text[:110]!r}")
