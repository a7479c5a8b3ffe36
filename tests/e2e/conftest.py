"""The app in Chromium: one server on a tiny checkpoint, one tab for each test, and a record of the tab's requests."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.idle import NOTE_REQUESTS, TIMEOUT
from viz_app.server.launch import CHROMIUM_FLAGS, find_chromium, running_app
from viz_app.session.environment import MODELS_VARIABLE

expect.set_options(timeout=TIMEOUT)
# Chromium without its own windows, as Playwright uses it: less processor time.
HEADLESS_SHELL = "chromium-headless-shell"
# A page is gone before its most optimised code, frequent searches for garbage, and scripts read in another thread have
# paid. Maglev, the quicker of V8's optimising compilers, pays: tabs share a process, and axe-core takes a quarter less.
JAVASCRIPT_FLAGS = [
    "--js-flags=--no-opt --min-semi-space-size=32 --initial-heap-size=768",
    "--disable-features=ScriptStreaming",
]


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
    return {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"}


@pytest.fixture(scope="session")
def app(tiny_checkpoint: Path) -> Iterator[str]:
    """The address of the app, started by its command line on a tiny checkpoint."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MODELS_VARIABLE, "100")  # the server keeps those of closed sessions for two minutes
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


@pytest.fixture
def page(opener: Page) -> Iterator[Page]:
    """A new tab, with cookies and storage cleared."""
    opener.context.clear_cookies()
    with opener.expect_popup() as opened:
        opener.evaluate("localStorage.clear(), sessionStorage.clear(), void window.open()")
    yield opened.value
    opened.value.close()


@pytest.fixture
def requests(page: Page) -> list[str]:
    """The host of every request and web socket of the page; data: and blob: addresses are not requests."""
    hosts: list[str] = []

    def note(url: str) -> None:
        if not url.startswith(("data:", "blob:")):
            hosts.append(urlsplit(url).netloc)

    page.on("request", lambda request: note(request.url))
    page.on("websocket", lambda connection: note(connection.url))
    return hosts
