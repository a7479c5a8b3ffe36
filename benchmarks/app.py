"""How long the app keeps its reader waiting, how much it sends, and how much it keeps: python benchmarks/app.py

Drives the app in headless Chromium on this machine and prints a table. Every sentence is new to the app, and so is every
head that is clicked. Run it on an otherwise idle machine; the memory of the server is read from /proc, which Linux has.
"""

import argparse
import base64
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from core import Translator
from viz_app.launch import CHROMIUM_FLAGS, find_chromium, running_app
from viz_app.models import shipped_path
from viz_app.pages import PAGES

SUBJECTS = ("man", "woman", "boy", "girl", "dog", "child", "people", "teacher")  # one token each, so that the page has a word of that name
SENTENCE = "The old {} from the house near the river told us that there had never been much snow in winter"  # 20 words
LONG = 100  # tokens, `</s>` included
SWITCHES = 20
HEAD_MAP = "canvas.picture"
GRID = "style.maps"
MEGABYTE = 10**6
PATIENCE = 20_000  # milliseconds after which a measurement is given up
# Streamlit's components live in shadow roots, which a selector does not enter by itself.
ADDRESS = """selector => {
  const all = [document, ...[...document.querySelectorAll("*")].flatMap((node) => node.shadowRoot ?? [])];
  const image = all.map((root) => root.querySelector(selector)).find(Boolean);
  return image?.toDataURL?.() ?? image?.textContent;
}"""
CHANGED = f"([selector, old]) => {{ const now = ({ADDRESS})(selector); return now && now !== old; }}"


@dataclass(frozen=True)
class Row:
    """One line of the table; without a budget it is told for information."""

    name: str
    unit: str
    values: list[float]
    budget: float | None = None

    def __str__(self) -> str:
        budget = "" if self.budget is None else f"{self.budget:.2f}"
        verdict = "" if self.budget is None else "kept" if max(self.values) <= self.budget else "MISSED"
        return f"{self.name:<58}{budget:>8}{statistics.median(self.values):>8.2f}{max(self.values):>8.2f} {self.unit:<4}{verdict}"


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, help="instead of the shipped one")
    parser.add_argument("--runs", type=int, default=7, help=f"of each measurement, at most {len(SUBJECTS) - 1} (default 7)")
    arguments = parser.parse_args()
    count = min(arguments.runs, len(SUBJECTS) - 1)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=CHROMIUM_FLAGS)
        starts = [cold_start(browser, arguments.checkpoint) for _ in range(min(3, count))]
        rows = [
            Row("command to shell painted, cold", "s", [shell for shell, _, _ in starts], 1.5),
            Row("command to a text box that takes text, cold", "s", [box for _, box, _ in starts]),
            Row("command to first translation, cold", "s", [translation for _, _, translation in starts], 5.0),
        ]
        with running_app(arguments.checkpoint) as address:
            rows += short_sentence(browser, address, count)
            rows += long_sentence(browser, address, long_texts(arguments.checkpoint or shipped_path(), min(3, count)))
            rows += page_switches(browser, address)
        browser.close()
    print(f"{'':<58}{'budget':>8}{'median':>8}{'worst':>8}")
    print(*rows, sep="\n")


def new_page(browser: Browser) -> Page:
    """A reader who has never been here, on a desk's screen."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    return context.new_page()


def cold_start(browser: Browser, checkpoint: Path | None) -> tuple[float, float, float]:
    """Seconds from the command until the frame of the app is painted, until its text box is there, and until the first translation is."""
    page = new_page(browser)
    started = time.perf_counter()
    with running_app(checkpoint) as address:
        page.goto(address, wait_until="commit")
        page.locator("#frame").wait_for()
        page.wait_for_function("performance.getEntriesByType('paint').length > 0")
        shell = time.perf_counter() - started
        page.locator(".stTextInput input").wait_for()
        box = time.perf_counter() - started
        page.locator(".tokens").wait_for()
        translation = time.perf_counter() - started
        page.context.close()
    return shell, box, translation


def short_sentence(browser: Browser, address: str, count: int) -> list[Row]:
    """Twenty words: a new sentence, a new head."""
    page = new_page(browser)
    page.goto(f"{address}/heads?view=Map")
    page.locator(HEAD_MAP).wait_for()
    enter(page, SUBJECTS[-1])  # the first one is no measure of the others
    entered = [enter(page, subject) for subject in SUBJECTS[:count]]
    clicked = [click(page, layer=run % 6, head=(3 * run + 1) % 8) for run in range(count)]
    page.context.close()
    return [Row("Enter to translation and grid, 20 words", "s", entered, 1.0), Row("click to head map, 20 words", "s", clicked, 0.4)]


def long_sentence(browser: Browser, address: str, texts: list[str]) -> list[Row]:
    """All heads of all three kinds of attention: the time until the first are seen, and what was sent until all were."""
    entered: list[float] = []
    drawn: list[float] = []
    sent: list[float] = []
    for text in texts:
        page = new_page(browser)
        page.goto(address)
        page.locator(".tokens").wait_for()
        bar = page.get_by_role("group", name="Source", exact=True)
        started = time.perf_counter()
        page.locator(".stTextInput input").first.fill(text)
        page.locator(".stTextInput input").first.press("Enter")
        bar.get_by_role("button").nth(len(text.split()) - 1).wait_for()
        entered.append(time.perf_counter() - started)
        settle(page)
        received = Received(page)
        drawn.append(waited(page, GRID, page.get_by_role("link", name="Heads", exact=True).click))
        for kind in ("Encoder", "Decoder"):
            settle(page)
            waited(page, GRID, page.locator(".stMain").get_by_text(kind, exact=True).first.click)
        settle(page)
        sent.append(received.bytes / MEGABYTE)
        page.context.close()
    return [
        Row(f"Enter to translation, {LONG} tokens", "s", entered),
        Row(f"Heads to first picture, {LONG} tokens", "s", drawn, 1.0),
        Row(f"sent to the browser for all heads of three kinds, {LONG} tokens", "MB", sent, 1.0),
    ]


def long_texts(checkpoint: Path, count: int) -> list[str]:
    """Sentences of `LONG` tokens, of this model's."""
    tokenizer = Translator.from_checkpoint(checkpoint).tokenizer
    texts: list[str] = []
    for subject in SUBJECTS[:count]:
        words = f"{SENTENCE.format(subject)} and ".split() * (LONG // 10)
        while len(tokenizer.encode(" ".join(words))) >= LONG:
            words.pop()
        texts.append(" ".join(words))
    return texts


def page_switches(browser: Browser, address: str) -> list[Row]:
    """What stays in memory: every page is seen once before the count begins."""
    page = new_page(browser)
    page.goto(f"{address}/heads")
    page.locator(".tokens, .grid").first.wait_for()
    devtools = page.context.new_cdp_session(page)
    titles = [title for _, title in PAGES]
    for title in titles:
        go_to(page, title)
    server, heap = server_memory(address), browser_heap(devtools)
    for switch in range(SWITCHES):
        go_to(page, titles[switch % len(titles)])
    rows = [
        Row(f"growth of the server's memory over {SWITCHES} page switches", "MB", [server_memory(address) - server], 5.0),
        Row(f"growth of the page's heap over {SWITCHES} page switches", "MB", [browser_heap(devtools) - heap], 5.0),
    ]
    page.context.close()
    return rows


class Received:
    """What a page has been sent from now on, as DevTools count it: the bodies of answers and the web socket's messages, unpacked."""

    def __init__(self, page: Page) -> None:
        self.bytes = 0
        devtools = page.context.new_cdp_session(page)
        devtools.on("Network.dataReceived", lambda event: self._add(event["dataLength"]))
        devtools.on("Network.webSocketFrameReceived", lambda event: self._add(frame_size(event["response"])))
        devtools.send("Network.enable")

    def _add(self, size: int) -> None:
        self.bytes += size


def frame_size(frame: dict[str, object]) -> int:
    """Bytes of a message; DevTools hand over binary ones in base 64."""
    payload = str(frame["payloadData"])
    return len(base64.b64decode(payload)) if frame["opcode"] == 2 else len(payload.encode())


def server_memory(address: str) -> float:
    """Resident memory of the server that listens at an address, in MB."""
    port = str(urlsplit(address).port).encode()
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            if port in (status.parent / "cmdline").read_bytes().split(b"\0"):
                line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
                return int(line.split()[1]) * 1024 / MEGABYTE
        except OSError:  # it has ended in the meantime
            continue
    raise RuntimeError(f"no process of /proc was started with the port {port.decode()}")


def browser_heap(devtools: CDPSession) -> float:
    """JavaScript objects that are still in use, in MB."""
    devtools.send("HeapProfiler.collectGarbage")
    return devtools.send("Runtime.getHeapUsage")["usedSize"] / MEGABYTE


def go_to(page: Page, title: str) -> None:
    """Another page of the app, until its script has run."""
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=title, exact=True).click()
    settle(page)


def settle(page: Page) -> None:
    """Until the page's script has run, and nothing has been changed for half a second."""
    page.wait_for_timeout(200)
    page.locator(".stApp[data-test-script-state=notRunning]").wait_for()
    page.wait_for_timeout(500)


def enter(page: Page, subject: str) -> float:
    """Seconds from Enter until the new sentence's words and grid are on the screen."""
    box = page.locator(".stTextInput input").first
    box.fill(SENTENCE.format(subject))
    return waited(page, GRID, lambda: box.press("Enter"), page.get_by_role("button", name=subject, exact=True).first.wait_for)


def click(page: Page, layer: int, head: int) -> float:
    """Seconds from a click on a head, counted from 0, until its map is drawn."""
    return waited(page, HEAD_MAP, page.get_by_role("button", name=f"L{layer + 1} H{head + 1}", exact=True).click)


def waited(page: Page, selector: str, act: Callable[[], None], then: Callable[[], None] = lambda: None) -> float:
    """Seconds from an act until a picture has changed and what else there is to wait for has come."""
    old = page.evaluate(ADDRESS, selector)
    started = time.perf_counter()
    act()
    page.wait_for_function(CHANGED, arg=[selector, old])
    then()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
