"""The frame of the app that a browser shows while it loads Streamlit's scripts."""

import gzip
import html
import re
from pathlib import Path
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import file_util

from viz_app.language import LANGUAGES, language_of_visit, speaking, tr
from viz_app.page_list import PAGES

FRAME = Path(__file__).parent / "frame.html"
INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
ROOT = b'<div id="root"></div>'  # the element that Streamlit draws in
STYLE_SHEET = re.compile(rb'<link rel="stylesheet"[^>]*>')
LANGUAGE_OF_PAGE = re.compile(rb'(<html\b[^>]*\blang=")[^"]*')
STREAMLITS = ("embed", "embed_options")  # query parameters that the app does not see


class FirstFrame:
    """ASGI middleware that adds a frame of the app, in the visitor's language, to Streamlit's page."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.frames = {code: frame(code) for code in LANGUAGES}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Buffer HTML pages; pass everything else through."""
        held: list[Message] = []

        async def framed(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_page(scope, message):
                held.append(message)
            elif not held:
                await send(message)
            else:
                held.append(message)
                if not message.get("more_body"):
                    await self._send_framed(held, language_of_request(scope), send)

        await self.app(scope, receive, framed)

    async def _send_framed(self, held: list[Message], code: str, send: Send) -> None:
        start, *parts = held
        headers = MutableHeaders(raw=start["headers"])
        is_compressed = headers.get("content-encoding") == "gzip"  # by Streamlit, for every browser
        body = b"".join(part.get("body", b"") for part in parts)
        body = gzip.decompress(body) if is_compressed else body
        # A browser draws nothing after a style sheet before it has loaded it; the frame needs only its own.
        style_sheets = b"".join(STYLE_SHEET.findall(body))
        body = STYLE_SHEET.sub(b"", body).replace(ROOT, ROOT + self.frames[code] + style_sheets, 1)
        body = LANGUAGE_OF_PAGE.sub(rb"\g<1>" + code.encode(), body, count=1)
        body = gzip.compress(body) if is_compressed else body
        headers["content-length"] = str(len(body))
        headers.add_vary_header("Accept-Language")
        for name in ("etag", "last-modified"):  # of the page without the frame
            del headers[name]
        await send(start)
        await send({"type": "http.response.body", "body": body})


def frame(code: str) -> bytes:
    """Return the HTML of the frame in a language."""
    text = FRAME.read_text(encoding="utf-8")
    with speaking(code):
        lines = [f"<p>{html.escape(tr(page.title))}</p>" for page in PAGES]
        return text.replace("{pages}", "".join(lines)).replace("{sentence}", html.escape(tr("Sentence"))).encode()


def inline_scripts() -> list[str]:
    """Return the scripts within the page: Streamlit's, and that of the frame."""
    pages = [Path(file_util.get_static_dir()) / "index.html", FRAME]
    return [script for page in pages for script in INLINE_SCRIPT.findall(page.read_text(encoding="utf-8"))]


def language_of_request(scope: Scope) -> str:
    """Return the code of the language in which the app will answer.

    The app learns only the first of the browser's languages (`navigator.language`).
    """
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    address = {name: value for name, value in query if name.lower() not in STREAMLITS}
    return language_of_visit(address, preferred_language(Headers(scope=scope).get("accept-language", "")))


def preferred_language(accepted: str) -> str:
    """Return the tag with the highest weight in an `Accept-Language` header, or "" if it has none."""
    weights: dict[str, float] = {}
    for part in accepted.split(","):
        tag, _, parameter = part.partition(";")
        weight = re.fullmatch(r"\s*q=([01](?:\.\d{0,3})?)\s*", parameter or "q=1")
        weights.setdefault(tag.strip(), float(weight[1]) if weight else 0.0)
    return max(weights, key=lambda tag: weights[tag])


def _is_page(scope: Scope, start: Message) -> bool:
    is_html = MutableHeaders(raw=start["headers"]).get("content-type", "").startswith("text/html")
    return is_html and start["status"] == 200 and scope["method"] == "GET"
