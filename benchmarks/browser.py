"""Pages of the app in Chromium, and their latency, traffic and memory."""

import base64
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, CDPSession, Page

from viz_app.page_list import PAGES
from viz_app.server.launch import running_app
from viz_app.session.models import ROOT

# words of one token, each a button of that name on the page
SUBJECTS = ("man", "woman", "boy", "girl", "dog", "child", "people", "teacher")
SENTENCE = "The old {} from the house near the river told us that there had never been much snow in winter"  # 20 words
ECHO_PAGE = 'import streamlit as st\n\nst.text(st.text_input("Sentence"))\n'
ECHO = "[data-testid=stText]"
HEAD_MAP = "canvas.picture"
GRID = "style.maps"
BOX = ".stMain .stTextInput input"  # not that of the sidebar
MEGABYTE = 10**6
IDLE = 6_000  # milliseconds until a new server is idle
PATIENCE = 20_000  # milliseconds, timeout of a measurement
# Streamlit's components live in shadow roots, which selectors do not enter.
FIND = """selector => {
  const all = [document, ...[...document.querySelectorAll("*")].flatMap((node) => node.shadowRoot ?? [])];
  return all.map((root) => root.querySelector(selector)).find(Boolean);
}"""
ADDRESS = f"""selector => {{
  const image = ({FIND})(selector);
  return image?.toDataURL?.() ?? image?.textContent;
}}"""
# The clock starts at the event's own time stamp and is read in the page at every frame, without the driver's delays.
WATCH = f"""([selector, other]) => {{
  const [find, address] = [{FIND}, {ADDRESS}];
  const old = address(selector);
  let begun;
  const starts = (event) => event.type === "click" || event.key === "Enter";
  const begin = (event) => starts(event) && (begun ??= window.begun = event.timeStamp);
  for (const type of ["click", "keydown"]) window.addEventListener(type, begin, {{ capture: true }});
  window.watched = new Promise((resolve) => {{
    const look = () => {{
      const found = begun && address(selector);
      if (found && found !== old && (!other || find(other))) resolve(performance.now() - begun);
      else requestAnimationFrame(look);
    }};
    requestAnimationFrame(look);
  }});
}}"""

# After WATCH: until the server has run the page, and Streamlit has drawn all of it.
WATCH_RUN = """() => {
  let hasRun = false;
  window.run = new Promise((resolve) => {
    const look = () => {
      const state = document.querySelector(".stApp").dataset.testScriptState;
      hasRun ||= window.begun && state === "running";
      if (hasRun && state === "notRunning") resolve(performance.now() - window.begun);
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
}"""


def new_page(browser: Browser) -> Page:
    """Open a page without cache or cookies, in a desktop window."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE)
    return context.new_page()


@contextmanager
def app_folder(script: str) -> Iterator[Path]:
    """A folder with a Streamlit script, `main.py`, and the app's settings."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "viz_app" / ".streamlit", folder / ".streamlit")
        (folder / "main.py").write_text(script, encoding="utf-8")
        yield folder


@contextmanager
def echo_page(browser: Browser) -> Iterator[Page]:
    """A page that only repeats what is entered, warmed up."""
    with app_folder(ECHO_PAGE) as folder, running_app(root=folder, script="main.py") as address:
        page = new_page(browser)
        page.goto(address)
        echo(page, SUBJECTS[-1])
        settle(page)
        yield page
        page.context.close()


def echo(page: Page, subject: str) -> float:
    """Return the seconds from Enter until a sentence is repeated."""
    box = page.locator(BOX)
    box.fill(SENTENCE.format(subject))
    return waited(page, ECHO, lambda: box.press("Enter"))


@contextmanager
def heads_page(browser: Browser, checkpoint: Path | None, root: Path) -> Iterator[Page]:
    """The page Heads of an app that is warmed up."""
    with running_app(checkpoint, root) as address:
        page = new_page(browser)
        page.goto(f"{address}/heads?view=map")
        page.locator(HEAD_MAP).wait_for()
        settle(page)
        page.wait_for_timeout(IDLE)
        enter(page, SUBJECTS[-1])  # the first sentence takes longer
        settle(page)
        yield page
        page.context.close()


class TrafficCounter:
    """Counts bytes that a page receives from now on, with DevTools: bodies and web socket messages, decompressed."""

    def __init__(self, page: Page) -> None:
        self.bytes = 0
        devtools = page.context.new_cdp_session(page)
        devtools.on("Network.dataReceived", lambda event: self._add(event["dataLength"]))
        devtools.on("Network.webSocketFrameReceived", lambda event: self._add(frame_size(event["response"])))
        devtools.send("Network.enable")

    def _add(self, size: int) -> None:
        self.bytes += size


def frame_size(frame: dict[str, object]) -> int:
    """Return the bytes of a message; DevTools give binary ones in base 64."""
    payload = str(frame["payloadData"])
    return len(base64.b64decode(payload)) if frame["opcode"] == 2 else len(payload.encode())


def server_process(address: str) -> Path:
    """Return the folder in /proc of the server at an address.

    Raises:
        RuntimeError: there is none.
    """
    port = str(urlsplit(address).port).encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if port in (folder / "cmdline").read_bytes().split(b"\0"):
                return folder
        except OSError:  # the process has ended
            continue
    raise RuntimeError(f"no process of /proc was started with the port {port.decode()}")


def server_memory(address: str) -> float:
    """Return the resident memory of the server at an address, in MB."""
    status = (server_process(address) / "status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024 / MEGABYTE


def server_seconds(address: str) -> float:
    """Return the processor time that the server at an address has taken, in seconds."""
    fields = (server_process(address) / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def browser_heap(devtools: CDPSession) -> float:
    """Return the JavaScript heap after a garbage collection, in MB."""
    devtools.send("HeapProfiler.collectGarbage")
    return devtools.send("Runtime.getHeapUsage")["usedSize"] / MEGABYTE


def go_to(page: Page, name: str) -> None:
    """Open another view of the app, by its address, and wait until its script has run."""
    found = next(each for each in PAGES if name in [view.name for view in each.views])
    page.locator(".st-key-pages").get_by_role("link", name=found.title, exact=True).click()
    settle(page)
    title = next(view.title for view in found.views if view.name == name)
    if len(found.views) > 1:
        page.locator(".st-key-views").get_by_role("link", name=title, exact=True).click()
        settle(page)


def settle(page: Page) -> None:
    """Wait until the page's script has run, and half a second longer."""
    page.wait_for_timeout(200)
    page.locator(".stApp[data-test-script-state=notRunning]").wait_for()
    page.wait_for_timeout(500)


def enter(page: Page, subject: str) -> tuple[float, float]:
    """Return the seconds from Enter after a new sentence to its words and grid, and to the end of the run."""
    box = page.locator(BOX).first
    box.fill(SENTENCE.format(subject))
    page.evaluate("window.begun = undefined")
    page.evaluate(WATCH_RUN)
    drawn = waited(page, GRID, lambda: box.press("Enter"), f'.word[aria-label="{subject}"]')
    return drawn, page.evaluate("window.run") / 1000


def click(page: Page, layer: int, head: int) -> tuple[float, float]:
    """Return the seconds from a click on a head, numbered from 0, to its map, and to the server's answer."""
    name = f"L{layer + 1} H{head + 1}"
    drawn = waited(page, HEAD_MAP, page.get_by_role("button", name=name, exact=True).click)
    page.locator(".stMultiSelect").get_by_text(name, exact=True).wait_for()
    return drawn, page.evaluate("performance.now() - window.begun") / 1000


def waited(page: Page, selector: str, act: Callable[[], None], other: str = "") -> float:
    """Return the seconds from the click or Enter in `act` until `selector` has changed and `other` is on the page."""
    page.evaluate(WATCH, [selector, other])
    act()
    return page.evaluate("window.watched") / 1000
