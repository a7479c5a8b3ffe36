"""Protection from other pages, which can neither connect to the app nor frame it, and from foreign scripts."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from viz_app.session.environment import LOOPBACK_HOSTS

NOBODY = "'none'"


class OwnOrigin:
    """ASGI middleware that refuses pages of other origins, with status 403.

    A browser lets any page open a web socket to any address, and sends the page's origin in the handshake. Streamlit
    accepts all origins on this machine, at any port. Here, an origin is accepted if it is the address that the request
    was sent to (its `Host`, which has been checked before) or a loopback name with the port of the server. Clients
    other than browsers send no origin and are accepted.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self.app
        if scope["type"] in ("http", "websocket"):
            origin = Headers(scope=scope).get("origin")
            if origin is not None and not is_own_origin(origin, scope):
                app = PlainTextResponse(
                    f"This app answers only its own pages, not those of {origin}: open it at its own address.", 403
                )
        await app(scope, receive, send)


def is_own_origin(origin: str, scope: Scope) -> bool:
    """Return whether an `Origin` header is the server's address, to which this ASGI scope's request was sent."""
    try:
        parts = urlsplit(origin.lower())
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:  # the port is not a number
        return False
    if port is None or parts.hostname is None:  # "null", or a scheme without servers
        return False
    if parts.netloc == Headers(scope=scope).get("host", "").lower():
        return True
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return host in LOOPBACK_HOSTS and port == (scope.get("server") or (None, None))[1]


class SecurityHeaders:
    """ASGI middleware that restricts the files a page may load and run, and the origins whose pages may frame it.

    Scripts are files of this server, blobs (in which Streamlit runs the app's components) and the inline scripts with a
    known hash; styles may be inline. In a frame of another page, clicks could be hijacked.
    """

    def __init__(self, app: ASGIApp, scripts: Sequence[str] = (), ancestors: Sequence[str] = ()) -> None:
        self.app = app
        policy = {
            "default-src": ["'self'"],
            "script-src": ["'self'", "blob:", *scripts],
            "style-src": ["'self'", "'unsafe-inline'"],
            "img-src": ["'self'", "data:", "blob:"],
            "font-src": ["'self'", "data:"],
            "object-src": [NOBODY],
            "base-uri": [NOBODY],
            "form-action": ["'self'"],
            "frame-ancestors": ancestors or [NOBODY],
        }
        self.headers = {
            "Content-Security-Policy": "; ".join(f"{name} {' '.join(sources)}" for name, sources in policy.items()),
            "X-Content-Type-Options": "nosniff",
        }
        if not ancestors:
            self.headers["X-Frame-Options"] = "DENY"  # for old browsers; it cannot name origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers[name] = value
            await send(message)

        await self.app(scope, receive, with_headers)
