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
from docs.gallery.exhibits import CAPTIONS
from tests.e2e.accessibility import violations
from web.build import build

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
        threading.Thread(target=plain.serve_forever).start()
        yield f"http://127.0.0.1:{plain.server_port}"
        plain.shutdown()


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
    return "".join(page.locator(".translation button:not(:last-child)").all_inner_texts())


def test_one_file_from_the_disk_translates_what_is_typed(folder: Path, static: Page) -> None:
    requests = list[str]()
    static.on("request", lambda request: requests.append(request.url))
    static.goto((folder / "headlight.html").as_uri())
    expect(static.locator(".grid .cell")).to_have_count(16)
    static.get_by_role("textbox", name="Sentence").fill(SENTENCE)
    expect(static.locator("details li").first).to_contain_text("Hunde")
    best = Translator.from_checkpoint("multi30k").translate(SENTENCE).text
    assert translation(static) == best.replace(" ", "")
    assert static.evaluate("location.hash").startswith("#text=Two+dogs")
    assert {url.split(":")[0] for url in requests} == {"file", "blob"}
    assert len([url for url in requests if url.startswith("file")]) == 1


def test_a_server_has_the_model_beside_the_page_and_a_link_names_all(server: str, static: Page) -> None:
    static.goto(f"{server}/#text=A+dog+runs.&model=multi30k&search=1&language=de")
    expect(static.locator(".translation button").last).to_be_visible()
    expect(static.get_by_role("textbox", name="Satz")).to_have_value("A dog runs.")
    expect(static.get_by_label("Suche")).to_have_value("1")
    expect(static.locator("details:not(.code)")).to_have_count(0)  # greedy search has no other translations
    static.get_by_role("button", name="Encoder").click()
    expect(static.locator(".grid .cell")).to_have_count(16)
    static.get_by_role("textbox", name="Satz").fill(" ")
    expect(static.locator(".status")).to_contain_text("Nicht übersetzt")


def test_the_figure_plays_and_a_link_names_the_stop(server: str, static: Page) -> None:
    static.goto(f"{server}/#text=A+dog+runs.&model=multi30k&search=1&language=zh&play=encoder_self-softmax")
    expect(static.locator(".play .sentence")).to_contain_text("softmax 把分数变为权重")
    static.keyboard.press("Escape")
    static.get_by_role("button", name="播放").click()
    static.get_by_role("button", name="速度").click()
    expect(static.locator(".play .count")).to_have_text("2 / 14")
    assert static.evaluate("location.hash").endswith("play=position")


def test_the_figure_leads_to_its_heads_on_a_telephone(folder: Path, static: Page) -> None:
    static.set_viewport_size({"width": 390, "height": 800})
    static.goto((folder / "headlight.html").as_uri())
    expect(static.locator(".figure1 svg").first).to_be_visible()
    assert static.evaluate("document.documentElement.scrollWidth") <= 390
    static.get_by_role("button", name="Feed-forward").first.click()
    multi30k = Translator.from_checkpoint("multi30k")
    length, d_model = len(multi30k.codec.source_ids(CAPTIONS[0].source)), multi30k.model.config.d_model
    expect(static.locator(".code pre")).to_contain_text(f"L {length} length (S or T), D {d_model} d_model")
    expect(static.locator(".code pre")).to_contain_text(
        paper_code()["sources"]["FeedForward"]["lines"], use_inner_text=True
    )
    static.locator(".code summary").click()
    static.locator('.figure1 a[href="#encoder_self.1.2"]').first.dispatch_event("click")
    expect(static.locator('.grid .cell[aria-pressed="true"]')).to_have_attribute("aria-label", "L1 H2")


# Texts that share more than an edge with a bar, in every drawing of the page.
MEETINGS = """() => {
  const [range, texts] = [document.createRange(), []];
  for (const walk = document.createTreeWalker(document.body, 4); walk.nextNode();) texts.push(walk.currentNode);
  const box = (node) => (range.selectNode(node), range.getBoundingClientRect());
  const bars = [...document.querySelectorAll(".chance, .translation i, .track, .bar canvas")].map(box);
  const share = (a, from, to) => (b) => Math.min(a[to], b[to]) - Math.max(a[from], b[from]) > 1;
  const meets = (a) => bars.filter(share(a, "left", "right")).some(share(a, "top", "bottom"));
  return texts.filter((text) => meets(box(text))).map(({ data }) => data);
}"""


def test_no_label_lies_on_a_bar(folder: Path, static: Page) -> None:
    static.goto((folder / "headlight.html").as_uri())
    for width in (1280, 390):
        static.set_viewport_size({"width": width, "height": 860})
        expect(static.locator(".track")).to_have_count(5)
        for step in static.locator(".figure1 .word.predicted").all():
            step.dispatch_event("click")
            assert static.evaluate(MEETINGS) == []
    assert violations(static, without=[".translation button"]) == []  # of the size of their text, as links in one


def test_another_word_is_one_click_and_its_link_shows_the_same(folder: Path, static: Page) -> None:
    static.goto((folder / "headlight.html").as_uri())
    expect(static.locator(".notice")).to_have_count(1)
    own, forced = translation(static), static.locator(".translation .forced").last
    static.locator(".alternatives [aria-pressed=false]").first.press("Enter")
    expect(forced).to_be_focused()
    assert (other := translation(static)) != own
    static.reload()
    expect(forced).to_be_visible()
    assert translation(static) == other
    static.get_by_role("button", name="Back to the model's own translation").click()
    expect(forced).to_have_count(0)
    static.evaluate("location.hash = 'text=A+\u6f22.&prefix=99999'")
    expect(static.locator(".status")).to_contain_text("the forced words are those of another model")
    static.get_by_role("textbox").press(".")
    expect(static.locator(".notice")).to_contain_text("lacks the character \u6f22 (U+6F22)")


def test_a_page_that_cannot_fetch_its_model_says_why(server: str, browser: Browser) -> None:
    page = browser.new_page()  # the console has what Chromium refuses
    page.set_content(f'<iframe sandbox="allow-scripts" src="{server}"></iframe>')
    expect(page.frame_locator("iframe").locator(".status")).to_contain_text("headlight.html beside it has the model")
    page.close()
