"""What the server does besides Streamlit's own work: it checks who asks, paints a frame, and gets the model ready."""

import gc
import os
import re
import socket
import stat
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import App

from viz_app import models
from viz_app.pages import PAGES
from viz_app.security import LOOPBACK_HOSTS, NotFramed, OwnOrigin

ROOT = b'<div id="root"></div>'  # where Streamlit's page is drawn
STYLE_SHEET = re.compile(rb'<link rel="stylesheet"[^>]*>')
OPEN_FILES = "/dev/fd"  # of this process, by number, on systems that have it
SWITCH_INTERVAL = 0.0005  # seconds that one thread may keep the interpreter from the others while the model is read


@asynccontextmanager
async def lifespan(_app: App) -> AsyncGenerator[None]:
    """Read the model in a thread as soon as the server starts: most readers come when it is done."""
    send_at_once()
    threading.Thread(target=get_ready, name="get-ready", daemon=True).start()
    yield


def send_at_once() -> None:
    """Have connections send what they are given at once.

    asyncio sees to that for sockets that name TCP as their protocol. Streamlit's names none, so whatever comes in two parts, as
    most answers do, waits until the browser has confirmed the first one: 40 ms on Linux. A connection is as its listener is.
    """
    for name in os.listdir(OPEN_FILES) if os.path.isdir(OPEN_FILES) else ():
        with suppress(OSError):  # closed by then
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with socket.socket(fileno=os.dup(int(name))) as listener:
                    if listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def get_ready() -> None:
    """Load the model that the app starts with, in small enough turns that pages are served meanwhile.

    What is there then, mostly code, stays. Streamlit collects garbage after every run of a page and of a part of one, and would
    look through all of it each time, a tenth of a second in which nothing is sent.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        leave_cores_to_the_browser()
        with suppress(models.ModelError):  # the page says so
            models.shipped_model()
    finally:
        sys.setswitchinterval(interval)
    gc.freeze()


def leave_cores_to_the_browser() -> None:
    """Compute with half of the cores that this process may use, unless `OMP_NUM_THREADS` says with how many.

    The browser is on this machine too and draws at the same time. PyTorch's threads wait for one another after every product, so one
    that has lost its core to the browser stops them all.
    """
    import torch

    from core.device import usable_cores

    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, usable_cores() // 2))


class Framed:
    """Puts the frame of the app into the page that Streamlit sends, to be seen while the browser still reads Streamlit's scripts."""

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
