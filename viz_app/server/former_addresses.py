"""Redirects of former addresses, and of addresses with texts of several lines."""

import re
from urllib.parse import parse_qsl, urlencode

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from viz_app.page_list import VIEWS

LINE_END = re.compile(r"[\r\n]+")  # what a browser removes from the text of a box
MOVED = {f"/{VIEWS[0].name}": "/", "/bertviz": "/heads?view=bertviz"}  # pages, and where they are now
# By page and query parameter: the parameter of today, and the choices that it had under the former name. Another page
# may have a parameter of that name today.
EARLIER_PARAMETERS = {
    ("/heads", "distances"): ("distance", {"true"}),
    ("/heads", "method"): (
        "weights",
        {"Attention weights", "Norm-weighted", "Gradient \u00d7 attention", "Attention rollout"}
        | {"ALTI, within a layer", "ALTI, rolled out"},
    ),
}
# By former page and query parameter: the page that a view of it is today, and the values that named the view.
MOVED_VIEWS = {
    ("/training", "training_view"): ("/table_3", {"table_3", "Table 3", "Tabelle 3", "\u8868 3", "\ud45c 3"})
}


class FormerAddresses:
    """ASGI middleware that redirects from former addresses; see `MOVED`, `MOVED_VIEWS` and `EARLIER_PARAMETERS`.

    A text of several lines is put on one: a browser's box would
    show it without the ends of the lines, and the model read it with them.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self.app
        if scope["type"] == "http":
            query = scope["query_string"].decode("latin-1")
            if address := current_address(scope["path"], query):
                app = RedirectResponse(address)
        await app(scope, receive, send)


def current_address(path: str, query: str) -> str:
    """Return the present form of a former address, "" if it is not one.

    The path is left out if it is the same: behind a proxy, the browser may know another one.
    """
    pairs = parse_qsl(query, keep_blank_values=True)
    for name, value in pairs:
        page, values = MOVED_VIEWS.get((path, name), ("", ()))
        if value in values:
            others = urlencode([pair for pair in pairs if pair[0] != name])
            return f"{page}?{others}" if others else page
    named = [(_current_parameter(path, name, value), value) for name, value in pairs]
    renamed = [(name, LINE_END.sub(" ", value)) for name, value in named]
    query = query if renamed == pairs else urlencode(renamed)
    if page := MOVED.get(path):
        return f"{page}{'&' if '?' in page else '?'}{query}" if query else page
    return "" if renamed == pairs else f"?{query}"


def _current_parameter(path: str, name: str, value: str) -> str:
    parameter, choices = EARLIER_PARAMETERS.get((path, name), (name, ()))
    return parameter if value in choices else name
