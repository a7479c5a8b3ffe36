"""Access to the running server: only from pages at its own addresses."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.idle import open_page
from tests.e2e.test_app import translate

CONNECT = """address => new Promise((resolve) => {
  const socket = new WebSocket(address, ["streamlit"]);
  socket.onopen = () => resolve("open");
  socket.onerror = () => resolve("refused");
})"""


class EmptyPage(BaseHTTPRequestHandler):
    def do_GET(self) -> None:  # name in the base class
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!DOCTYPE html><title>Elsewhere</title><body></body>")

    def log_message(self, format: str, *args: object) -> None:  # quiet
        pass


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[str]:
    """The address of another server on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), EmptyPage) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_address[1]}"
        server.shutdown()


def stream(app: str) -> str:
    return app.replace("http", "ws", 1) + "/_stcore/stream"


def test_the_app_works_at_each_of_its_addresses(page: Page, app: str) -> None:
    """Here localhost; all other tests use 127.0.0.1."""
    local = app.replace("127.0.0.1", "localhost")
    open_page(page, local)
    translate(page, "Nobody knows why.")
    for origin in (local, app):
        page.goto(f"{origin}/_stcore/health")
        assert page.evaluate(CONNECT, stream(origin)) == "open"


def test_a_page_of_another_program_cannot_connect(page: Page, app: str, elsewhere: str) -> None:
    page.goto(elsewhere)
    assert page.evaluate(CONNECT, stream(app)) == "refused"
    assert page.evaluate(CONNECT, stream(app.replace("127.0.0.1", "localhost"))) == "refused"


@pytest.mark.new_tab
def test_no_page_can_frame_the_app(page: Page, app: str, elsewhere: str) -> None:
    page.goto(elsewhere)
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    with page.expect_event("console", lambda message: "frame" in message.text):
        page.evaluate(
            f"document.body.append(Object.assign(document.createElement('iframe'), {{ src: {json.dumps(app)} }}))"
        )
    assert any("frame-ancestors 'none'" in message for message in messages)
    expect(page.frame_locator("iframe").locator("#root")).to_have_count(0)
