"""The app in a real browser: one server with a tiny checkpoint, one page a test, and a list of everything the page asked for."""

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from viz_app.launch import CHROMIUM_FLAGS, find_chromium, running_app

expect.set_options(timeout=20_000)  # a busy machine is slow, not broken


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
    return {"viewport": {"width": 1280, "height": 900}}


@pytest.fixture(scope="session")
def app(chromium: str, tiny_checkpoint: Path) -> Iterator[str]:
    """The address of the app, started as its users start it, on a tiny checkpoint."""
    with running_app(tiny_checkpoint) as address:
        yield address


@pytest.fixture
def requests(page: Page) -> list[str]:
    """The hosts that the page asks, one for each request; what a page carries in itself (data:, blob:) is no request."""
    hosts: list[str] = []

    def note(url: str) -> None:
        if not url.startswith(("data:", "blob:")):
            hosts.append(urlsplit(url).netloc)

    page.on("request", lambda request: note(request.url))
    page.on("websocket", lambda connection: note(connection.url))
    return hosts
