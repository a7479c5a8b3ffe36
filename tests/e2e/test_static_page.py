"""The static page in Chromium: from the disk as one file, and from a plain server."""

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from core import Translator
from core.drawing.paper_parts import paper_code
from core.files.shipped_files import shipped_checkpoint
from web.build import MODELS, build

SENTENCE = "Two dogs are playing in the snow."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("web") / "page"
    build(out, ["multi30k"])
    return out


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[str]:
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as plain:
        thread = threading.Thread(target=plain.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{plain.server_port}"
        plain.shutdown()
        thread.join()


@pytest.fixture
def static(browser: Browser) -> Iterator[Page]:
    """A tab that fails the test on any message of the console."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    said = list[str]()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    page.close()
    assert said == []


def translation(page: Page) -> str:
    return "".join(page.locator(".translation .token:not(:last-child)").all_inner_texts())


def test_one_file_from_the_disk_translates_what_is_typed(folder: Path, static: Page) -> None:
    requests = list[str]()
    static.on("request", lambda request: requests.append(request.url))
    static.goto((folder / "headlight.html").as_uri())
    expect(static.locator(".grid .cell")).to_have_count(16)
    static.get_by_role("textbox", name="Sentence").fill(SENTENCE)
    expect(static.locator("details li").first).to_contain_text("Hunde")
    best = Translator.from_checkpoint(shipped_checkpoint("multi30k")).translate(SENTENCE).text
    assert translation(static) == best.replace(" ", "")
    assert static.evaluate("location.hash").startswith("#text=Two+dogs")
    assert {url.split(":")[0] for url in requests} == {"file", "blob"}
    assert len([url for url in requests if url.startswith("file")]) == 1


def test_a_server_has_the_model_beside_the_page_and_a_link_names_all(server: str, static: Page) -> None:
    static.goto(f"{server}/#text=A+dog+runs.&model=multi30k&search=1&language=de")
    expect(static.locator(".translation .token").last).to_be_visible()
    expect(static.get_by_role("textbox", name="Satz")).to_have_value("A dog runs.")
    expect(static.get_by_label("Suche")).to_have_value("1")
    expect(static.locator("details:not(.code)")).to_have_count(0)  # greedy search has no other translations
    static.get_by_role("button", name="Encoder").click()
    expect(static.locator(".grid .cell")).to_have_count(16)
    static.get_by_role("textbox", name="Satz").fill(" ")
    expect(static.locator(".status")).to_contain_text("Nicht übersetzt")


def test_the_figure_leads_to_its_heads_on_a_telephone(folder: Path, static: Page) -> None:
    static.set_viewport_size({"width": 390, "height": 800})
    static.goto((folder / "headlight.html").as_uri())
    expect(static.locator(".figure1 svg").first).to_be_visible()
    assert static.evaluate("document.documentElement.scrollWidth") <= 390
    static.get_by_role("button", name="Feed-forward").first.click()
    (_, _, (first, *_)), multi30k = MODELS["multi30k"], Translator.from_checkpoint(shipped_checkpoint("multi30k"))
    length, d_model = len(multi30k.codec.source_ids(first)), multi30k.model.config.d_model
    expect(static.locator(".code pre")).to_contain_text(f"L {length} length (S or T), D {d_model} d_model")
    expect(static.locator(".code pre")).to_contain_text(
        paper_code()["sources"]["FeedForward"]["lines"], use_inner_text=True
    )
    static.locator(".code summary").click()
    static.locator('.figure1 a[href="#encoder_self.1.2"]').first.dispatch_event("click")
    expect(static.locator('.grid .cell[aria-pressed="true"]')).to_have_attribute("aria-label", "L1 H2")
