"""Checks of a drawing: a browser can take it, no tag is the sentence's, files open."""

import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from html.parser import HTMLParser

import pandas as pd
import plotly.graph_objects as go

from core.analysis.pictures import Grid
from core.analysis.pictures_data import picture_data
from tests.viz_app.drawn_sentence import Draw, Drawn, Subject
from tests.viz_app.export_readers import READERS
from viz_app.drawing.export.canvas import FORMATS, slide
from viz_app.drawing.export.plotly_chart import export_chart
from viz_app.drawing.plotly_chart import chart_text
from viz_app.drawing.theme import Theme
from viz_app.language import translated

HARMLESS = {  # tags and attributes of the project's own HTML
    *("table", "thead", "tbody", "tr", "th", "td", "div", "span", "p", "ins", "del", "b", "i", "br", "small", "sup"),
    *("title", "style", "class", "scope", "dir", "tabindex"),
}


class Tags(HTMLParser):
    """The names of all tags and of their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names = set[str]()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names |= {tag, *(name for name, _ in attrs)}


def files(drawn: Drawn, theme: Theme) -> Draw | None:
    """The function that makes files of a drawing, if there is one."""
    match drawn:
        case go.Figure():
            return partial(export_chart, drawn, theme=theme)
        case pd.DataFrame() | dict() | str() | Grid():
            return None
        case _:
            return drawn


def check(drawn: Drawn) -> None:
    """Fail if a drawing cannot be sent to a browser, or has tags of the sentence."""
    match drawn:
        case pd.DataFrame():
            READERS["csv"](drawn.to_csv(index=False).encode())
        case go.Figure():
            (drawn.to_json() or "").encode()
            chart_text(drawn).encode()
        case Grid():
            check(picture_data(drawn, translated))
        case dict():
            json.dumps(drawn, ensure_ascii=False, allow_nan=False).encode()
        case str():
            drawn.encode()
            assert Tags(drawn).names <= HARMLESS, Tags(drawn).names - HARMLESS
        case _:
            pass


def draw(of: Subject, drawing: Callable[[Subject], Iterator[Drawn]], with_files: bool) -> int:
    """Make a drawing with all its parts, and check each.

    Args:
        with_files: a file of each part, too, and one as a slide; this takes some twenty times as long.

    Returns:
        The number of files.
    """
    count = 0
    for drawn in drawing(of):
        check(drawn)
        if with_files and (draw_file := files(drawn, of.theme)):
            file_format = of.choice.choice(FORMATS)
            with slide(of.text) if of.choice.random() < 0.5 else nullcontext():
                READERS[file_format](draw_file(file_format))
            count += 1
    return count
