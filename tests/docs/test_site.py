"""Pages of the documentation site that are made from the code. `.ci/run` builds the site, failing on a broken link."""

import importlib
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError

from core.analysis.panels import PANELS
from viz_app.page_list import VIEWS, View

ROOT = Path(__file__).parents[2]
GENERATE = ROOT / "docs" / "generate"


@pytest.fixture(scope="module")
def hooks() -> Iterator[ModuleType]:
    """The module of the hooks, imported as MkDocs does: with its folder among those of modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(GENERATE)
        for path in GENERATE.glob("*.py"):
            patch.delitem(sys.modules, path.stem, raising=False)
        yield importlib.import_module("hooks")


def test_every_page_is_in_the_navigation(hooks: ModuleType) -> None:
    titles = {
        "zebra.md": "Zebra crossings",
        "cards.md": "Cards",
        "notebooks/index.md": "Notebooks",
        "notebooks/07_new.md": "New",
        "reference/core.model.md": "",
        f"pages/{VIEWS[0].name}.md": VIEWS[0].title,
    }
    groups = {name: pages for group in hooks.navigation(titles) for name, pages in group.items()}
    assert groups["Guides"] == ["cards.md", "zebra.md"]
    assert groups["Notebooks"] == ["notebooks/index.md", "notebooks/07_new.md"]
    assert groups["Reference"][0] == {"core": [{"core.model": "reference/core.model.md"}]}
    listed = [path for group in groups["Pages of the app"] for pages in group.values() for path in pages]
    assert listed == [f"pages/{page.name}.md" for page in VIEWS]


@pytest.mark.parametrize("address", ["https://code.example/headlight", ""])
def test_the_site_links_to_the_repository_if_the_project_names_one(
    hooks: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    urls = f'urls.Repository = "{address}"\n' if address else ""
    (tmp_path / "pyproject.toml").write_text(f'[project]\nversion = "1.2.3"\nlicense = "Apache-2.0"\n{urls}')
    monkeypatch.setattr(hooks, "ROOT", tmp_path)
    config = MkDocsConfig()
    config.site_name = "Headlight"
    hooks.on_config(config)
    assert config.copyright == "Headlight 1.2.3, Apache-2.0"
    assert (config.repo_url, config.repo_name) == (
        (address, "code.example/headlight") if address else (MkDocsConfig().repo_url, MkDocsConfig().repo_name)
    )


@pytest.mark.parametrize("page", VIEWS, ids=lambda page: page.name)
def test_a_page_has_the_texts_of_the_app(hooks: ModuleType, page: View) -> None:
    app_pages = sys.modules["app_pages"]
    text = app_pages.with_reading_help(ROOT, page.name, "# Title\n\nBeginning.\n\n## Limits\n\nSome.\n")
    assert text.startswith("# Title\n\nBeginning.\n\n")
    assert text.endswith("\n## Limits\n\nSome.\n")
    assert "## How to read it\n\n" in text


def test_a_page_has_the_texts_of_its_parts_and_the_sections_of_its_panels(hooks: ModuleType) -> None:
    text = sys.modules["app_pages"].with_reading_help(ROOT, "heads", "# Title\n\nBeginning.\n\n## Limits\n")
    assert "\n\n### Cut\n\nClick a **cell or a line** to cut one weight" in text
    for panel in PANELS:
        assert f"\n\n### {panel.title}\n\n{panel.how_to_read.strip()}\n\n`python -m core {panel.name}`: " in text


@pytest.mark.parametrize("page", VIEWS, ids=lambda page: page.name)
def test_a_page_says_what_it_is_for_and_where_it_comes_from(page: View) -> None:
    path = ROOT / "docs" / "pages" / f"{page.name}.md"
    assert path.exists(), f"write {path.relative_to(ROOT)}, as CONTRIBUTING.md says under Add a page"
    title, _, text = re.sub(r"\A---\n.*?\n---\n\n", "", path.read_text("utf-8"), flags=re.DOTALL).partition("\n\n")
    assert title == f"# {page.title}"
    assert not text.startswith("#"), "a sentence on what the page shows comes first"
    assert "\n## Source\n" in text


def test_the_picture_of_the_layers_is_drawn_from_the_contracts(hooks: ModuleType) -> None:
    page = _Page("architecture.md")
    text = hooks.on_page_markdown((ROOT / "docs/architecture.md").read_text("utf-8"), page, None, None)
    assert "mermaid" not in text
    drawn = re.findall(r'<div class="package (\w+)"><p>\1</p><ol>(.*?)</ol></div>', text)
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = {each["containers"][0]: each["layers"] for each in contracts if "containers" in each}
    assert [name for name, _ in drawn] == ["viz_app", "train", "core"]
    for name, boxes in drawn:
        names = [re.findall("<code>(.*?)</code>", box) for box in boxes.split("</li>")[:-1]]
        assert names == [re.findall(r"\w+", layer) for layer in layers[name]]
    with pytest.raises(ValueError, match="should have one block of Mermaid"):
        hooks.on_page_markdown("# Architecture\n", page, None, None)


@pytest.mark.parametrize(
    ("text", "loaded"),
    [
        ('<script async src="https://cdn.example/x.js"></script>', ["https://cdn.example/x.js"]),
        ("<img alt='a' src=//example.org/a.png>", ["//example.org/a.png"]),
        ('<link rel="stylesheet" href="https://fonts.example/css">', ["https://fonts.example/css"]),
        ("@import 'https://example.org/a.css'; b { background: url(https://example.org/b.png) }",
         ["https://example.org/a.css", "https://example.org/b.png"]),
        ('<a href="https://arxiv.org">paper</a> <img src="a.png"> <link rel="canonical" href="https://a.org/">', []),
        ('<iframe srcdoc="&lt;script src=x&gt;"></iframe> <script src="assets/a.js"></script>', []),
    ],
)  # fmt: skip
def test_outside_addresses_are_found(hooks: ModuleType, text: str, loaded: list[str]) -> None:
    assert hooks.outside_addresses(text) == loaded


def test_formulas_need_no_script(hooks: ModuleType) -> None:
    page = hooks.on_page_content(r'<p><span class="arithmatex">\(a &lt; b\)</span></p>', _Page(), None, None)
    assert page.startswith("<p><math")
    assert "arithmatex" not in page
    assert "&lt;" in page or "&#x0003C;" in page
    with pytest.raises(PluginError, match=r"has \\arg, which latex2mathml does not know"):
        hooks.on_page_content(r'<span class="arithmatex">\(\arg a\)</span>', _Page(), None, None)


class _Page:
    """The part of a page of MkDocs that the hook reads."""

    def __init__(self, address: str = "index.md") -> None:
        self.file = type("File", (), {"src_uri": address})
        self.meta = {}
