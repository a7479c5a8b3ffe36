"""The app in a real browser: one server with a tiny checkpoint, one tab a test, and a list of everything the tab
asked for.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from viz_app.server.launch import CHROMIUM_FLAGS, find_chromium, running_app

expect.set_options(timeout=60_000)  # a busy machine is slow, not broken


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser's path. Without one CI fails; other machines skip."""
    found = find_chromium()
    if found:
        return found
    reason = "no Chromium found: install it (Debian: apt-get install chromium) to run the end-to-end tests"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser_type_launch_args(chromium: str) -> dict[str, object]:
    return {"executable_path": chromium, "args": CHROMIUM_FLAGS}


@pytest.fixture(scope="session")
def browser_context_args() -> dict[str, object]:
    """What stands still is drawn once: a fifth of a test's time goes into Streamlit's fading otherwise."""
    return {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"}


@pytest.fixture(scope="session")
def app(chromium: str, tiny_checkpoint: Path) -> Iterator[str]:
    """The address of the app, started as its users start it, on a tiny checkpoint."""
    with running_app(tiny_checkpoint) as address:
        yield address


@pytest.fixture(scope="session")
def opener(browser: Browser, browser_context_args: dict[str, object], app: str) -> Iterator[Page]:
    """The tab that stays open. Those that it opens share its process, which has read and compiled Streamlit's
    JavaScript already.
    """
    context = browser.new_context(**browser_context_args)  # type: ignore[arg-type]
    tab = context.new_page()
    tab.goto(f"{app}/_stcore/health")
    yield tab
    context.close()


@pytest.fixture
def page(opener: Page) -> Iterator[Page]:
    """A new tab; what the last one had stored is gone."""
    opener.context.clear_cookies()
    with opener.expect_popup() as opened:
        opener.evaluate("localStorage.clear(), sessionStorage.clear(), void window.open()")
    yield opened.value
    opened.value.close()


@pytest.fixture
def requests(page: Page) -> list[str]:
    """The hosts that the page asks, one for each request; what a page carries in itself (data:, blob:) is no
    request.
    """
    hosts: list[str] = []

    def note(url: str) -> None:
        if not url.startswith(("data:", "blob:")):
            hosts.append(urlsplit(url).netloc)

    page.on("request", lambda request: note(request.url))
    page.on("websocket", lambda connection: note(connection.url))
    return hosts
