"""The app in Chromium: one server on a tiny checkpoint, one tab for each test, and a record of the tab's requests."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, ViewportSize, WebSocket, expect

from tests.e2e.idle import NOTE_REQUESTS, TIMEOUT
from viz_app.server.launch import CHROMIUM_FLAGS, find_chromium, running_app

expect.set_options(timeout=TIMEOUT)
# Chromium without its own windows, as Playwright uses it: less processor time.
HEADLESS_SHELL = "chromium-headless-shell"
# A page is gone before its most optimised code, frequent searches for garbage, and scripts read in another thread have
# paid. Maglev, the quicker of V8's optimising compilers, pays: tabs share a process, and axe-core takes a quarter less.
JAVASCRIPT_FLAGS = [
    "--js-flags=--no-opt --min-semi-space-size=32 --initial-heap-size=768",
    "--disable-features=ScriptStreaming",
]
WINDOW: ViewportSize = {"width": 1280, "height": 900}


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of Chromium. Where there is none, fail in CI and skip elsewhere."""
    found = shutil.which(HEADLESS_SHELL) or find_chromium()
    if found:
        return found
    reason = "no Chromium found: install it (Debian: apt-get install chromium) to run the end-to-end tests"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser_type_launch_args(chromium: str) -> dict[str, object]:
    return {"executable_path": chromium, "args": [*CHROMIUM_FLAGS, *JAVASCRIPT_FLAGS]}


@pytest.fixture(scope="session")
def browser_context_args() -> dict[str, object]:
    """A desktop window without animations: Streamlit's fades would take a fifth of a test's time."""
    return {"viewport": WINDOW, "reduced_motion": "reduce"}


@pytest.fixture(scope="session")
def app(tiny_checkpoint: Path) -> Iterator[str]:
    """The address of the app, started by its command line on a tiny checkpoint."""
    with running_app(tiny_checkpoint) as address:
        yield address


@pytest.fixture(scope="session")
def opener(browser: Browser, browser_context_args: dict[str, object], app: str) -> Iterator[Page]:
    """A tab that stays open: tabs opened from it share its process, with Streamlit's JavaScript already compiled."""
    context = browser.new_context(**browser_context_args)  # type: ignore[arg-type]
    context.set_default_timeout(TIMEOUT)
    context.add_init_script(NOTE_REQUESTS)
    tab = context.new_page()
    tab.goto(f"{app}/_stcore/health")
    yield tab
    context.close()


@pytest.fixture(scope="session")
def kept_tabs() -> list[Page]:
    """The tab that `page` uses again, if there is one."""
    return []


@pytest.fixture
def page(opener: Page, kept_tabs: list[Page], app: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A tab without cookies and storage: as good as new, or new for tests marked `new_tab`.

    A new one fetches 140 scripts again, a third of the time of opening the app. A test that listens to a tab's events,
    adds scripts that run first, or routes a web socket is to be marked: the rest is taken back.

    No test ends on a page with an exception.
    """
    is_kept = request.node.get_closest_marker("new_tab") is None
    if kept_tabs and is_kept:
        tab = kept_tabs.pop()
        clear_storage(tab)  # a new tab of another test, too, has left something there
    else:
        tab = opened_tab(opener)
    yield tab
    if not tab.is_closed():
        expect(tab.get_by_test_id("stException")).to_have_count(0)
    if not is_kept or tab.is_closed():
        tab.close()
        return
    tab.unroute_all()
    tab.goto(f"{app}/_stcore/health")  # ends the session
    tab.mouse.move(0, 0)
    tab.set_viewport_size(WINDOW)
    # Playwright's own choices for a new tab, but for the motion.
    tab.emulate_media(media="null", color_scheme="light", reduced_motion="reduce", forced_colors="none")
    kept_tabs.append(tab)


def opened_tab(opener: Page) -> Page:
    """A new tab in the opener's process, with cookies and storage cleared."""
    clear_storage(opener)
    with opener.expect_popup() as opened:
        opener.evaluate("void window.open()")
    return opened.value


def clear_storage(tab: Page) -> None:
    """Clear the app's cookies and storage; the tab is at one of the app's addresses."""
    tab.context.clear_cookies()
    tab.evaluate("localStorage.clear(), sessionStorage.clear()")


@pytest.fixture
def requests(page: Page) -> Iterator[list[str]]:
    """The host of every request and web socket of the page; data: and blob: addresses are not requests."""
    hosts: list[str] = []

    def note(request: Request | WebSocket) -> None:
        if not request.url.startswith(("data:", "blob:")):
            hosts.append(urlsplit(request.url).netloc)

    for event in ("request", "websocket"):
        page.on(event, note)
    yield hosts
    for event in ("request", "websocket"):
        page.remove_listener(event, note)


@pytest.fixture
def blocked(page: Page) -> Iterator[list[str]]:
    """Requests and scripts that the browser has refused because of the policy of the page."""
    messages: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            messages.append(message.text)

    page.on("console", note)
    yield messages
    page.remove_listener("console", note)
