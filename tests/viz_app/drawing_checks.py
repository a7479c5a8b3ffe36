"""Checks of a drawing: a browser can take it, and no tag is the sentence's."""

import json
from collections.abc import Callable, Iterator
from html.parser import HTMLParser

import pandas as pd
import plotly.graph_objects as go

from core.analysis.pictures import Grid
from core.analysis.pictures_data import picture_data
from tests.viz_app.drawn_sentence import Drawn, Subject
from tests.viz_app.export_readers import READERS
from viz_app.drawing.plotly_chart import chart_text
from viz_app.language import translated_all

HARMLESS = {  # tags and attributes of the project's own HTML
    *("table", "thead", "tbody", "tr", "th", "td", "div", "span", "p", "ins", "del", "b", "i", "br", "small", "sup"),
    *("title", "style", "class", "scope", "dir", "tabindex", "img", "src", "alt", "role", "aria-label"),
}


class Tags(HTMLParser):
    """The names of all tags and of their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names = set[str]()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names |= {tag, *(name for name, _ in attrs)}


def check(drawn: Drawn) -> None:
    """Fail if a drawing cannot be sent to a browser, or has tags of the sentence."""
    match drawn:
        case pd.DataFrame():
            READERS["csv"](drawn.to_csv(index=False).encode())
        case go.Figure():
            (drawn.to_json() or "").encode()
            chart_text(drawn).encode()
        case Grid():
            check(picture_data(drawn, translated_all))
        case dict():
            json.dumps(drawn, ensure_ascii=False, allow_nan=False).encode()
        case str():
            drawn.encode()
            assert Tags(drawn).names <= HARMLESS, Tags(drawn).names - HARMLESS


def draw(of: Subject, drawing: Callable[[Subject], Iterator[Drawn]]) -> None:
    """Make a drawing with all its parts, and check each."""
    for drawn in drawing(of):
        check(drawn)
