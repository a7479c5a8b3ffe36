"""What the server does besides Streamlit's own work: it checks who asks, paints a frame, and gets the model ready."""

import ast
import gc
import importlib
import os
import re
import socket
import stat
import sys
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import App

from viz_app.layout import sentence_input
from viz_app.pages import PAGES
from viz_app.server.security import LOOPBACK_HOSTS, NotFramed, OwnOrigin
from viz_app.server.threads import chosen_threads
from viz_app.session import models, readings

ROOT = b'<div id="root"></div>'  # where Streamlit's page is drawn
STYLE_SHEET = re.compile(rb'<link rel="stylesheet"[^>]*>')
OPEN_FILES = "/dev/fd"  # of this process, by number, on systems that have it
PAUSE = 3.0  # seconds after the model until the other pages are imported
SWITCH_INTERVAL = 0.0005  # seconds that one thread may keep the interpreter from the others while the model is read


@asynccontextmanager
async def lifespan(_app: App) -> AsyncGenerator[None]:
    """Read the model in a thread as soon as the server starts: most readers come when it is done."""
    send_at_once()
    threading.Thread(target=get_ready, name="get-ready", daemon=True).start()
    yield


def send_at_once() -> None:
    """Have connections send what they are given at once.

    asyncio sees to that for sockets that name TCP as their protocol. Streamlit's names none, so whatever comes in two
    parts, as
    most answers do, waits until the browser has confirmed the first one: 40 ms on Linux. A connection is as its
    listener is.
    """
    for name in os.listdir(OPEN_FILES) if os.path.isdir(OPEN_FILES) else ():
        with suppress(OSError):  # closed by then
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with socket.socket(fileno=os.dup(int(name))) as listener:
                    if listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def get_ready(pause: float = PAUSE) -> None:
    """Load the model that the app starts with and, after a pause, import all other pages, in small enough turns that
    pages are served meanwhile.

    What is there then, mostly code, stays. Streamlit collects garbage after every run of a page and of a part of one,
    and would look through all of it each time, a tenth of a second in which nothing is sent.

    Args:
        pause: in seconds; somebody who came at once has the first page by then.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        leave_cores_to_the_browser()
        with suppress(models.ModelError):  # the page says so
            first_example(models.shipped_model())
        gc.freeze()
        time.sleep(pause)
        import_pages()
    finally:
        sys.setswitchinterval(interval)
    gc.freeze()


def leave_cores_to_the_browser() -> None:
    """Compute with as many threads as `chosen_threads` says."""
    import torch

    from core.device import usable_cores

    torch.set_num_threads(chosen_threads(usable_cores(), os.environ.get("OMP_NUM_THREADS")))


def first_example(model: models.Model) -> None:
    """Translate and explain what the first page shows to whoever comes without a sentence."""
    search = readings.Search(sentence_input.EXAMPLES[0], *sentence_input.DEFAULTS)
    with suppress(ValueError):  # an unusual model may not take it; the page says so
        translation = search.run(model, lambda done, most: None)
        _ = readings.Reading(model, search, translation, 0).explanation


def import_pages() -> None:
    """Import what the pages import, pandas and matplotlib above all, so that nobody waits for it when a page is
    opened first.
    """
    importlib.import_module("matplotlib.figure")  # for whoever exports
    for script in sorted((Path(__file__).parents[1] / "app_pages").glob("*.py")):
        for node in ast.parse(script.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                importlib.import_module(node.module)
                for name in node.names:  # a module of a package, or a name in a module
                    with suppress(ModuleNotFoundError):
                        importlib.import_module(f"{node.module}.{name.name}")
            elif isinstance(node, ast.Import):
                for name in node.names:
                    importlib.import_module(name.name)


class Framed:
    """Puts the frame of the app into the page that Streamlit sends, to be seen while the browser still reads
    Streamlit's scripts.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        html = (Path(__file__).parent / "frame.html").read_text(encoding="utf-8")
        self.frame = html.replace("{pages}", "".join(f"<p>{title}</p>" for _, title in PAGES)).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hold an HTML answer back until it is whole; let everything else through."""
        held: list[Message] = []

        async def framed(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_page(scope, message):
                held.append(message)
            elif not held:
                await send(message)
            else:
                held.append(message)
                if not message.get("more_body"):
                    await self._send_framed(held, send)

        await self.app(scope, receive, framed)

    async def _send_framed(self, held: list[Message], send: Send) -> None:
        start, *parts = held
        body = b"".join(part.get("body", b"") for part in parts)
        # A browser paints nothing below a style sheet before it has read it; the frame needs none but its own.
        style_sheets = b"".join(STYLE_SHEET.findall(body))
        body = STYLE_SHEET.sub(b"", body).replace(ROOT, ROOT + self.frame + style_sheets, 1)
        headers = MutableHeaders(raw=start["headers"])
        headers["content-length"] = str(len(body))
        for name in ("etag", "last-modified"):  # those of the page without the frame
            del headers[name]
        await send(start)
        await send({"type": "http.response.body", "body": body})


class FirstPage:
    """Leads from the address that the first page would have by its name to `/`, where Streamlit has it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self.app
        if scope["type"] == "http" and scope["path"] == f"/{PAGES[0][0]}":
            query = scope["query_string"].decode("latin-1")
            app = RedirectResponse(f"/?{query}" if query else "/")
        await app(scope, receive, send)


def _is_page(scope: Scope, start: Message) -> bool:
    is_html = MutableHeaders(raw=start["headers"]).get("content-type", "").startswith("text/html")
    return is_html and start["status"] == 200 and scope["method"] == "GET"


MIDDLEWARE = [  # the first sees a request first
    Middleware(NotFramed),
    Middleware(TrustedHostMiddleware, allowed_hosts=list(LOOPBACK_HOSTS)),
    Middleware(OwnOrigin),
    Middleware(FirstPage),
    Middleware(Framed),
]
