"""Hooks of MkDocs: generated pages, formulas without a script, navigation.

Pages are generated from notebooks and from the code.
"""

import html
import re
from pathlib import Path
from typing import Any

from app_pages import PAGE_GROUPS, page_markdown, with_reading_help
from latex2mathml.converter import convert
from layers import with_picture
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from notebooks import NOTEBOOKS, run_notebook
from reference import REFERENCE, module_pages, with_code_of_sections

ROOT = Path(__file__).resolve().parents[2]
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
MODULE = re.compile(r"`((?:core|train)(?:\.\w+)+)`")  # or something in it
REPOSITORY = re.compile(r"\[([^\]]+)\]\(\.\./([^)#\s]+)\)")  # link to a file that is not of the documentation
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|<link\b(?![^>]*\brel=["']?(?:canonical|next|prev))[^>]*?\bhref=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|(?:@import\s*|url\()["']?((?:https?:)?//[^"')\s]+)"""
)
OUTPUT = re.compile(r'<div class="output" data-number="(\d+)"></div>')

_outputs: dict[str, list[str]] = {}  # of the cells of a notebook, by the address of its page


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and derive the navigation from all pages."""
    added = {f"{REFERENCE}/{name}": text for name, text in module_pages(ROOT).items()}
    added |= {f"notebooks/{path.stem}.md": _notebook_markdown(path) for path in sorted(NOTEBOOKS.glob("*.ipynb"))}
    added["contributing.md"] = (ROOT / "CONTRIBUTING.md").read_text("utf-8").replace("](docs/", "](")
    for pages in PAGE_GROUPS.values():
        for page in pages:
            if not files.get_file_from_path(f"pages/{page.name}.md"):
                added[f"pages/{page.name}.md"] = page_markdown(ROOT, page)
    for path, text in added.items():
        files.append(File.generated(config, path, content=text))
    config["nav"] = navigation({file.src_uri: _title(file.content_string) for file in files.documentation_pages()})
    return files


def navigation(titles: dict[str, str]) -> list[Any]:
    """Return all pages in groups.

    Pages that no group names come under Methods and guides, by their title.

    Args:
        titles: of each page, by its path in the documentation.
    """
    of_app = {group: [f"pages/{page.name}.md" for page in pages] for group, pages in PAGE_GROUPS.items()}
    named = {"index.md", "tutorial.md", "paper.md", "notebooks/index.md"}.union(*of_app.values())
    notebooks = sorted(path for path in titles if path.startswith("notebooks/") and not path.endswith("index.md"))
    reference = sorted(path for path in titles if path.startswith(f"{REFERENCE}/"))
    rest = set(titles) - {*named, *notebooks, *reference}
    return [
        {"Start": ["index.md", "tutorial.md"]},
        {"Pages of the app": [{group: pages} for group, pages in of_app.items()]},
        {"The paper": "paper.md"},
        {"Notebooks": ["notebooks/index.md", *notebooks]},
        {"Methods and guides": sorted(rest, key=lambda path: titles[path].lower())},
        {
            "Reference": [
                {package: [{_module(path): path} for path in reference if _module(path).startswith(f"{package}.")]}
                for package in ("core", "train")
            ]
        },
    ]


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Add what the code says about a page, and links to it."""
    folder, _, name = page.file.src_uri.rpartition("/")
    if folder == "pages":
        markdown = MODULE.sub(r"[`\1`][\1]", with_reading_help(ROOT, name.removesuffix(".md"), markdown))
    if not folder:
        markdown = REPOSITORY.sub(r"\1 (`\2`)", markdown)
    if page.file.src_uri == "architecture.md":
        markdown = with_picture(ROOT, markdown)
    if page.file.src_uri == "paper.md":
        markdown = with_code_of_sections(ROOT, markdown)
    if page.file.src_uri in _outputs:
        page.meta["hide"] = ["toc"]  # the drawings take its place
        return markdown
    return markdown.replace(".ipynb)", ".md)")


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Set formulas as MathML, and insert the outputs of notebooks.

    Browsers draw MathML without a script.
    """
    content = FORMULA.sub(lambda found: _mathml(html.unescape(found[2]), found[1] == "div"), content)
    outputs = _outputs.get(page.file.src_uri, [])
    return OUTPUT.sub(lambda found: outputs[int(found[1])], content)


def on_post_build(config: MkDocsConfig) -> None:
    """Check that no page loads anything from elsewhere."""
    found = {
        f"{path.relative_to(config.site_dir)}: {address}"
        for path in Path(config.site_dir).rglob("*")
        if path.suffix in (".html", ".css")
        for address in outside_addresses(path.read_text("utf-8"))
    }
    if found:
        raise PluginError(f"the site must work without a network, but loads: {', '.join(sorted(found))}")


def outside_addresses(text: str) -> list[str]:
    """Return the addresses of other hosts that a page or a style sheet loads.

    Links to them are not loaded.
    """
    return [address for found in LOADED.findall(text) for address in found if address]


def _notebook_markdown(path: Path) -> str:
    """Run a notebook and return it as Markdown, with places for its outputs."""
    outputs: list[str] = []
    parts: list[str] = []
    for cell in run_notebook(path):
        parts.append(cell.source if cell.kind == "markdown" else f"```python\n{cell.source}\n```")
        shown = (f"<pre>{html.escape(cell.printed)}</pre>" if cell.printed else "") + cell.value
        if shown:
            parts.append(f'<div class="output" data-number="{len(outputs)}"></div>')
            outputs.append(f'<div class="output">{shown}</div>')
    _outputs[f"notebooks/{path.stem}.md"] = outputs
    return "\n\n".join([*parts, f"[Download this notebook]({path.name})\n"])


def _title(text: str) -> str:
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return found[1] if found else ""


def _module(path: str) -> str:
    return path.removeprefix(f"{REFERENCE}/").removesuffix(".md")


def _mathml(formula: str, is_block: bool) -> str:
    found = convert(formula.strip(), display="block" if is_block else "inline")
    if unknown := re.search(r"\\\w+", found):
        raise PluginError(
            f"the formula {formula.strip()!r} has {unknown[0]}, which latex2mathml does not know: write it otherwise"
        )
    return f'<div class="formula">{found}</div>' if is_block else found
