"""Addresses that are redirected: former ones, and texts of several lines in them."""

import re
from urllib.parse import parse_qsl, urlencode

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from viz_app.page_list import PAGES

LINE_END = re.compile(r"[\r\n]+")  # what a browser removes from the text of a box
MOVED = {f"/{PAGES[0].name}": "/", "/bertviz": "/heads?view=BertViz"}  # pages, and where they are now
# By query parameter: former names of choices, in the language of the address, and those of today. Whoever renames a
# choice, or its translation, adds the former name.
EARLIER_NAMES: dict[str, dict[str, tuple[str, ...]]] = {
    "behaviour": {
        "Looks at the previous token": ("Attends to the previous token",),
        "Looks at the same position": ("Attends to the same position",),
        "Looks at the next token": ("Attends to the next token",),
        "Looks at the same word": ("Attends to the same word",),
        "Looks at the rarest token": ("Attends to the rarest token",),
        "Looks at the end mark": ("Attends to the end mark",),
        "Looks at the first token": ("Attends to the first token",),
        "Looks at punctuation": ("Attends to punctuation",),
        "Looks at one token at a time": ("Attends to one token at a time",),
        "Looks at a fixed distance": ("Attends at a fixed distance",),
        "Looks everywhere": ("Attends everywhere",),
    },
    "contrast_methods": {
        "Norms": ("Norm-weighted",),
        "Normen": ("Normgewichtet",),
        "\u5f52\u4e00\u5316": ("\u8303\u6570\u52a0\u6743",),
        "Norm": ("\ub178\ub984 \uac00\uc911",),
    },
    "labels": {
        "positional": ("previous word", "next word", "itself", "same position", "fixed distance"),
        "aligner": ("aligns words",),
        "rare token": ("rarest word",),
        "same token": ("same word",),
        "sink": ("end mark", "first word", "punctuation", "marks"),
        "confident": ("one word at a time",),
        "broad": ("spread out",),
    },
    "picture_view": {"Karte": ("Heatmap",)},
    "rows": {"that predict a word": ("by predicted word",), "that were fed it": ("by input word",)},
    "view": {"Karte": ("Heatmap",)},
}
# By page and query parameter: the parameter of today, and the choices that it had under the former name. Another page
# may have a parameter of that name today.
EARLIER_PARAMETERS: dict[tuple[str, str], tuple[str, frozenset[str]]] = {
    ("/heads", "method"): (
        "weights",
        frozenset(
            {
                *("Attention weights", "Norm-weighted", "Gradient \u00d7 attention", "Attention rollout"),
                *("ALTI, within a layer", "ALTI, rolled out"),
            }
        ),
    ),
}


class FormerAddresses:
    """ASGI middleware that redirects from former addresses.

    See `MOVED`, `EARLIER_NAMES` and `EARLIER_PARAMETERS`. A text of several lines is put on one: a browser's box would
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
    """Return where a former address leads, "" if it is not one.

    Without the path if it is the same: behind a proxy, the browser may know another one.
    """
    pairs = parse_qsl(query, keep_blank_values=True)
    named = [(_current_parameter(path, name, value), value) for name, value in pairs]
    lines = [(name, LINE_END.sub(" ", value)) for name, value in named]
    renamed = [(name, new) for name, value in lines for new in EARLIER_NAMES.get(name, {}).get(value, (value,))]
    query = query if renamed == pairs else urlencode(renamed)
    if page := MOVED.get(path):
        return f"{page}{'&' if '?' in page else '?'}{query}" if query else page
    return "" if renamed == pairs else f"?{query}"


def _current_parameter(path: str, name: str, value: str) -> str:
    parameter, choices = EARLIER_PARAMETERS.get((path, name), (name, ()))
    return parameter if value in choices else name
