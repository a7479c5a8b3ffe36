"""The app in a real browser: one server with a tiny checkpoint, one page a test, and a list of everything the page asked for."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Playwright

ROOT = Path(__file__).parents[2]
QUIET = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser's path: the system's, or the one that Playwright installed. Without one CI fails, other machines skip."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome") or _playwright_chromium()
    if found:
        return found
    reason = "no Chromium found: install it (Debian: apt-get install chromium) to run the end-to-end tests"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def _playwright_chromium() -> str | None:
    folders = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    return next((str(path) for path in sorted(folders.glob("chromium-*/chrome-linux*/chrome"))), None)


@pytest.fixture(scope="session")
def browser_type_launch_args(chromium: str) -> dict[str, object]:
    return {"executable_path": chromium, "args": [*QUIET.split(), "--disable-dev-shm-usage"]}


@pytest.fixture(scope="session")
def browser_context_args() -> dict[str, object]:
    return {"viewport": {"width": 1280, "height": 900}}


@pytest.fixture(scope="session", autouse=True)
def _patience(playwright: Playwright) -> None:
    """A busy machine is slow, not broken."""
    from playwright.sync_api import expect

    expect.set_options(timeout=20_000)


@pytest.fixture(scope="session")
def app(chromium: str, tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app, started as its users start it, on a tiny checkpoint."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    log = tmp_path_factory.mktemp("app") / "log"
    environment = {**os.environ, "HEADLIGHT_CHECKPOINT": str(tiny_checkpoint)}
    command = [sys.executable, "-m", "streamlit", "run", "viz_app/main.py", "--server.port", str(port)]
    with open(log, "w") as output:
        server = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        _wait_for(f"{address}/_stcore/health", server, log)
        yield address
    finally:
        server.terminate()
        server.wait(10)


def _wait_for(address: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    for _ in range(600):
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"the app did not start: {log.read_text()}")


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
