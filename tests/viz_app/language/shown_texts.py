"""The texts that a page shows, collected from the elements of an `AppTest`."""

import html
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest

# Fields of Streamlit's messages that a visitor reads; the others are keys, values, addresses and code.
READ = {"label", "help", "placeholder", "body", "content", "options", "text", "alt", "caption"}
MARKUP = re.compile(r"<(?:style|script).*?</(?:style|script)>|<svg.*?</svg>|<[^>]*>", re.DOTALL)
ATTRIBUTE = re.compile(r'\b(?:title|aria-label|alt|placeholder)="([^"]*)"')


def shown_texts(app: AppTest) -> Iterator[str]:
    """Return the texts of all elements of the page that has just run."""
    todo: list[Any] = [app.main, app.sidebar]
    while todo:
        node = todo.pop()
        todo += getattr(node, "children", {}).values()
        if isinstance(message := getattr(node, "proto", None), Message):
            yield from _texts(message)


def _texts(message: Message) -> Iterator[str]:
    name = message.DESCRIPTOR.name
    if name == "PlotlyChart":
        yield from _of_chart(json.loads(message.spec))  # pyright: ignore
    elif name == "BidiComponent":
        yield from _of_data(json.loads(message.json or "null"))  # pyright: ignore
    elif name == "Dataframe":
        yield from _of_table(message)
        return
    for field, value in message.ListFields():
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for each in [value] if isinstance(value, Message) else value:
                yield from _texts(each)
        elif field.name in READ:
            for text in [value] if isinstance(value, str) else value:
                yield from _of_markup(str(text)) if name == "Html" else [str(text)]


def _of_markup(text: str) -> Iterator[str]:
    """Return the words and the attributes for people of HTML."""
    yield from map(html.unescape, ATTRIBUTE.findall(text))
    yield html.unescape(MARKUP.sub(" ", text))


def _of_table(message: Any) -> Iterator[str]:
    options: dict[str, Any] = json.loads(message.columns or "{}")
    frame: pd.DataFrame = pa.ipc.open_stream(message.arrow_data.data).read_pandas()
    for column in message.column_order or map(str, frame.columns):
        given = options.get(column) or {}
        yield from (str(given[name]) for name in ("label", "help") if given.get(name))
        if "label" not in given and not given.get("hidden"):
            yield column


def _of_chart(spec: Any, key: str = "") -> Iterator[str]:
    """Return the titles, annotations, legends and hover texts of a Plotly figure."""
    match spec:
        case dict():
            for name, value in spec.items():
                if name == "template":
                    continue
                if isinstance(value, str) and (
                    name in ("hovertemplate", "label")
                    or (name == "text" and key in ("title", "annotations"))
                    or (name == "name" and spec.get("showlegend"))
                ):
                    yield MARKUP.sub(" ", re.sub(r"%\{[^}]*\}", "", value))
                else:
                    yield from _of_chart(value, name)
        case list():
            for each in spec:
                yield from _of_chart(each, key)
        case _:
            pass


def _of_data(data: Any) -> Iterator[str]:
    """Return the strings in a component's data that look like texts, of two words."""
    match data:
        case str() if " " in data and not data.startswith(("data:", "rgb")):
            yield from _of_markup(data)
        case dict():
            yield from (
                found for name, each in data.items() if name not in ("texts", "sources") for found in _of_data(each)
            )
        case list():
            yield from (found for each in data for found in _of_data(each))
        case _:
            pass


# Outside the brackets: names and digests of files, code, addresses, formulas, and Streamlit's own marks.
NO_WORDS = re.compile(
    r"[\w\\-]+\.(?:safetensors|npz|zip)|SHA-256 [0-9a-f]+|`[^`]*`|\$[^$]*\$|\]\([^)]*\)|https?://\S+|:[a-z-]+/\w+:|:(?:[a-z]+-badge|gray)\["
    r"|\\\\|\b(?:source|target) \d+"
)
WORD = re.compile(r"[A-Za-z][A-Za-z_]+")
BRACKETS = re.compile(r"\u27e6[^\u27e6\u27e7]*\u27e7")


def untranslated(texts: Iterable[str], known: set[str]) -> dict[str, list[str]]:
    """Return words outside the brackets of the pseudo-language, but for `known` ones, by the texts that have them."""
    found: dict[str, list[str]] = {}
    for text in texts:
        rest = NO_WORDS.sub(" ", text)
        while (shorter := BRACKETS.sub(" ", rest)) != rest:
            rest = shorter
        if words := [word for word in WORD.findall(rest) if word not in known]:
            found[text] = words
    return found
