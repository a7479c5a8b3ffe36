"""Hooks of MkDocs: pages generated from notebooks and code, formulas without a script, navigation."""

import html
import itertools
import re
import tomllib
from pathlib import Path
from typing import Any

from app_pages import PAGE_VIEWS, with_reading_help
from build_cache import digest_of_program
from cell_outputs import CellError, CellOutputs
from gallery_pages import PLACE, STATIC_PAGE, GalleryError, GalleryPages, search_entries
from latex2mathml.converter import convert
from layers import with_picture
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from notebooks import CODE, NOTEBOOKS, Cell, cells_of
from paper_code import with_paper_code
from reference import REFERENCE, module_pages
from reference_pages import ReferencePages, is_reference

ROOT = Path(__file__).resolve().parents[2]
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
MODULE = re.compile(r"`((?:core|train)(?:\.\w+)+)`")  # or something in it
REPOSITORY = r"\[([^\]]+)\]\((?:\.\./){%d}([^)#\s]+)\)"  # link to a file that is not of the documentation
OWN_PAGE = re.compile(r"\]\(\.\./(CHANGELOG|CONTRIBUTING)\.md")  # files of the project that the site shows, too
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|<link\b(?![^>]*\brel=["']?(?:canonical|next|prev))[^>]*?\bhref=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|(?:@import\s*|url\()["']?((?:https?:)?//[^"')\s]+)"""
)
OUTPUT = re.compile(r'<div class="output" data-number="(\d+)"></div>')

FRONT_PAGE = ROOT / "docs" / "index.md"
DEVELOPERS = {"changelog.md", "contributing.md", "architecture.md", "file_map.md", "audit.md"}
# In the search, where a word in a title counts a thousand times. Thus a page that mentions it comes before a module of
# that name (`reference_pages.BOOST`), and a page about it, which has it in its title or `tags`, before both.
BOOST, BOOST_OF_DEVELOPERS = 1000, 10


class _Build:
    """What the hooks of one build share."""

    outputs: CellOutputs
    gallery: GalleryPages
    reference: ReferencePages


def on_config(config: MkDocsConfig) -> None:
    """Set what the project says about itself: its version and, where it has one, the address of its repository."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    config.copyright = f"{config.site_name} {project['version']}, {project['license']}"
    if address := project.get("urls", {}).get("Repository"):
        config.repo_url, config.repo_name = address, address.partition("://")[2]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and derive the navigation from all pages."""
    program = digest_of_program()
    _Build.gallery = GalleryPages(program)
    _Build.outputs = CellOutputs(program, [FRONT_PAGE, *sorted(NOTEBOOKS.glob("*.ipynb"))])
    _Build.reference = ReferencePages(ROOT, config)
    added = {f"{REFERENCE}/{name}": text for name, text in module_pages(ROOT).items()}
    added |= {f"notebooks/{path.stem}.md": _notebook_markdown(path) for path in sorted(NOTEBOOKS.glob("*.ipynb"))}
    for name in ("contributing", "changelog"):
        added[f"{name}.md"] = (ROOT / f"{name.upper()}.md").read_text("utf-8").replace("](docs/", "](")
    for path, text in added.items():
        files.append(File.generated(config, path, content=text))
    config["nav"] = navigation({file.src_uri: _title(file.content_string) for file in files.documentation_pages()})
    return files


def navigation(titles: dict[str, str]) -> list[Any]:
    """Return all pages in groups, by their paths and titles; those that no group names come under Guides, by their
    title.
    """
    of_app = {page: [f"pages/{view.name}.md" for view in views] for page, views in PAGE_VIEWS.items()}
    start = ["index.md", "tutorial.md", "changelog.md"]
    named = {*start, "paper.md", "notebooks/index.md"}.union(*of_app.values())
    notebooks = sorted(path for path in titles if path.startswith("notebooks/") and not path.endswith("index.md"))
    reference = sorted(path for path in titles if path.startswith(f"{REFERENCE}/"))
    rest = set(titles) - {*named, *notebooks, *reference}
    return [
        {"Start": start},
        {"Pages of the app": [{group: pages} for group, pages in of_app.items()]},
        {"The paper": "paper.md"},
        {"Notebooks": ["notebooks/index.md", *notebooks]},
        {"Guides": sorted(rest, key=lambda path: titles[path].lower())},
        {
            "Reference": [
                {package: [{_module(path): path} for path in reference if _module(path).startswith(f"{package}.")]}
                for package in ("core", "train")
            ]
        },
    ]


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Add the code's own texts about a page, and links to it."""
    folder, _, name = page.file.src_uri.rpartition("/")
    if is_reference(page):
        return _Build.reference.markdown(page, markdown)
    page.meta.setdefault("search", {"boost": BOOST_OF_DEVELOPERS if name in DEVELOPERS else BOOST})
    if folder == "pages":
        markdown = with_reading_help(ROOT, name.removesuffix(".md"), markdown)
    if folder == "pages" or page.file.src_uri == "paper.md":
        markdown = MODULE.sub(r"[`\1`][\1]", markdown)
    if not folder:
        markdown = OWN_PAGE.sub(lambda match: f"]({match[1].lower()}.md", markdown)
    if folder in ("", "pages"):
        markdown = re.sub(REPOSITORY % (1 + bool(folder)), r"\1 (`\2`)", markdown)
    if page.file.src_uri == "paper.md":
        markdown = with_paper_code(markdown)
    if page.file.src_uri == "architecture.md":
        markdown = with_picture(ROOT, markdown)
    if page.file.src_uri == "index.md":
        number = itertools.count()
        markdown = CODE.sub(lambda match: _code(match[1], next(number)) + "\n", markdown)
        page.meta["hide"] = ["toc", "navigation"]  # the cards take their place
    elif _with_cells(page):
        page.meta["hide"] = ["toc"]  # the drawings take its place
        return markdown
    return markdown.replace(".ipynb)", ".md)")


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Set formulas as MathML, which browsers draw without a script, and the address of the static page."""
    content = FORMULA.sub(lambda match: _mathml(html.unescape(match[2]), match[1] == "div"), content)
    if page.file.src_uri == "index.md":  # leads to the page itself, where there is one
        content = content.replace('href="static_page.html"', f'href="{STATIC_PAGE}"')
    return _Build.reference.content(page, content) if is_reference(page) else content


def on_env(env: Any, config: MkDocsConfig, files: Files) -> None:
    """Insert what the cells wrote, and the gallery, for which the pages were rendered meanwhile; add to the search."""
    index = config.plugins["material/search"].search_index
    try:
        cards, made = _Build.gallery.files()
    except GalleryError as error:
        raise PluginError(str(error)) from error
    index.entries += search_entries(cards, BOOST_OF_DEVELOPERS)
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    for page in (file.page for file in files.documentation_pages()):
        if is_reference(page):
            index.entries += _Build.reference.search_entries(page)
        elif path := _with_cells(page):
            try:
                cells = _Build.outputs.cells(path)
            except CellError as error:
                raise PluginError(str(error)) from error
            page.content = OUTPUT.sub(lambda match, cells=cells: _output(cells[int(match[1])]), page.content)
            gallery = f'<div class="gallery" data-search-exclude>{cards}</div>'  # each card has an entry of its own
            page.content = page.content.replace(PLACE, gallery)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Give the dialog of the search a name, which the theme leaves out."""
    return output.replace('<div class="md-search"', '<div class="md-search" aria-label="Search"', 1)


def on_post_build(config: MkDocsConfig) -> None:
    """Check that no page loads anything from elsewhere."""
    outside = {
        f"{path.relative_to(config.site_dir)}: {address}"
        for path in Path(config.site_dir).rglob("*")
        if path.suffix in (".html", ".css")
        for address in outside_addresses(path.read_text("utf-8"))
    }
    if outside:
        raise PluginError(f"the site must work without a network, but loads: {', '.join(sorted(outside))}")


def outside_addresses(text: str) -> list[str]:
    """Return the addresses of other hosts that a page or a style sheet loads, links aside."""
    return [address for groups in LOADED.findall(text) for address in groups if address]


def _notebook_markdown(path: Path) -> str:
    """Return a notebook as Markdown, with places for the outputs of its cells."""
    parts = [
        source if kind == "markdown" else _code(source, number) for number, (kind, source) in enumerate(cells_of(path))
    ]
    return "\n\n".join([*parts, f"[Download this notebook]({path.name})\n"])


def _code(source: str, number: int) -> str:
    """Return a cell of code as Markdown, with a place for its output."""
    return f'```python\n{source.rstrip()}\n```\n\n<div class="output" data-number="{number}"></div>'


def _output(cell: Cell) -> str:
    shown = (f"<pre>{html.escape(cell.printed)}</pre>" if cell.printed else "") + cell.value
    return f'<div class="output">{shown}</div>' if shown else ""


def _with_cells(page: Page) -> Path | None:
    """Return the file of a page whose code is run: a notebook, or the front page."""
    folder, _, name = page.file.src_uri.rpartition("/")
    path = NOTEBOOKS / f"{name.removesuffix('.md')}.ipynb"
    if page.file.src_uri == "index.md":
        return FRONT_PAGE
    return path if folder == "notebooks" and path.exists() else None


def _title(text: str) -> str:
    match = re.search(r"^# (.+)$", text, re.MULTILINE)
    return match[1] if match else ""


def _module(path: str) -> str:
    return path.removeprefix(f"{REFERENCE}/").removesuffix(".md")


def _mathml(formula: str, is_block: bool) -> str:
    mathml = convert(formula.strip(), display="block" if is_block else "inline")
    if unknown := re.search(r"\\\w+", mathml):
        raise PluginError(
            f"the formula {formula.strip()!r} has {unknown[0]}, which latex2mathml does not know: write it otherwise"
        )
    return f'<div class="formula">{mathml}</div>' if is_block else mathml
