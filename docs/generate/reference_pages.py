"""Pages of the reference as mkdocstrings renders them, cached by the code that they describe, and their search entries.

A page is more than its HTML: it also registers names, to which other pages link.
"""

import html
from pathlib import Path
from typing import Any

from build_cache import cached, digest, save, versions
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import AnchorLink, get_toc
from reference import REFERENCE, docstrings, sources

LIBRARIES = (
    "mkdocs",
    "mkdocstrings",
    "mkdocstrings-python",
    "mkdocs-autorefs",
    "griffelib",
    "Markdown",
    "Pygments",
    "ruff",
)
BOOST = 0.01  # in the search, where the pages have 1000; smaller ones would be rounded to 0


class ReferencePages:
    """The pages of one build."""

    def __init__(self, root: Path, config: MkDocsConfig) -> None:
        """Note what all pages depend on, and where they register their names."""
        self._root = root
        handlers = config.plugins["mkdocstrings"].handlers
        handlers.get_handler("python")  # whose styles and inventory are written, even if it renders nothing
        self._inventory = handlers.inventory
        self._autorefs: Any = config.plugins["autorefs"]
        generators = sorted(Path(__file__).parent.glob("reference*.py"))
        self._settings = digest(
            versions(*LIBRARIES), *(path.read_bytes() for path in (root / "mkdocs.yml", *generators))
        )
        self._cached: dict[str, dict[str, Any]] = {}
        self._rendered: dict[str, Any] = {"anchors": [], "inventory": []}

    def markdown(self, page: Page, markdown: str) -> str:
        """Return what is to be rendered: nothing if the page is in the cache."""
        rendered = cached(page.file.name, self._key(page))
        if rendered is None:
            self._record()
            return markdown
        self._cached[page.url] = rendered
        return ""

    def content(self, page: Page, content: str) -> str:
        """Return the HTML of a page, from the cache or as it was just rendered; then it is in the cache."""
        page.meta["search"] = {"exclude": True}  # `search_entries` are fewer, without the code
        if rendered := self._cached.get(page.url):
            page.toc = get_toc(rendered["toc"])
            page.present_anchor_ids = set(rendered["ids"])
            for identifier, anchor, title, primary in rendered["anchors"]:
                self._autorefs.register_anchor(page, identifier, anchor, title=title, primary=primary)
            for item in rendered["inventory"]:
                self._inventory.register(**item)
            return rendered["content"]
        del self._autorefs.register_anchor, self._inventory.register
        rendered = {
            **self._rendered,
            "content": content,
            "toc": [_token(item) for item in page.toc],
            "ids": sorted(page.present_anchor_ids or ()),
            "entries": self._entries(page),
        }
        save(page.file.name, self._key(page), rendered)
        self._cached[page.url] = rendered
        return content

    def search_entries(self, page: Page) -> list[dict[str, Any]]:
        """Return the names of a page with their docstrings as entries of the search."""
        return self._cached[page.url]["entries"]

    def _entries(self, page: Page) -> list[dict[str, Any]]:
        """Return the entries of a page that was rendered, its own first: names with the first paragraph of their
        docstrings, as every page of the site loads all entries.
        """
        module = page.file.name
        texts = docstrings(self._root, module)
        begun = {name: html.escape(text.partition("\n\n")[0]) for name, text in texts.items()}
        entries = [{"location": page.url, "title": module, "text": begun.get(module, "")}]
        entries += [
            {"location": f"{page.url}#{name}", "title": _short(name, title or ""), "text": begun[name]}
            for name, _, title, primary in self._rendered["anchors"]
            if primary and name in begun and name != module
        ]
        return [{**entry, "boost": BOOST} for entry in entries]

    def _key(self, page: Page) -> str:
        return digest(self._settings, *(path.read_bytes() for path in sources(self._root, page.file.name)))

    def _record(self) -> None:
        """Record what is registered until the page has its content."""
        anchors, items = list[Any](), list[Any]()
        register_anchor, register_item = self._autorefs.register_anchor, self._inventory.register

        def anchor(
            page: Page, name: str, id: str | None = None, *, title: str | None = None, primary: bool = True
        ) -> None:
            anchors.append((name, id, title, primary))
            register_anchor(page, name, id, title=title, primary=primary)

        def item(**values: Any) -> None:
            items.append(values)
            register_item(**values)

        self._autorefs.register_anchor, self._inventory.register = anchor, item
        self._rendered = {"anchors": anchors, "inventory": items}


def is_reference(page: Page) -> bool:
    """Return whether a page is one of the reference."""
    return page.file.src_uri.startswith(f"{REFERENCE}/")


def _short(name: str, title: str) -> str:
    """Return the whole name of a module, and that of anything else within its module or class."""
    return name if "doc-module-name" in title else name.rpartition(".")[2]


def _token(link: AnchorLink) -> dict[str, Any]:
    return {
        "level": link.level,
        "id": link.id,
        "name": link.title,
        "children": [_token(each) for each in link.children],
    }
