"""A drawing of our own: the files beside its Python file make it, and what the browser sends of a click is read
back.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st
from streamlit.components.v2 import component

V = TypeVar("V")
Drawing = Callable[..., Any]  # what `component_beside` gives: called with data, a key and its listeners

_SHARED = Path(__file__).with_name("shared.js")


def component_beside(file: str) -> Drawing:
    """The component of a Python file: its style sheet and its script, which have the same name."""
    here = Path(file)
    css = here.with_suffix(".css").read_text(encoding="utf-8")
    renderer = component(f"headlight_{here.stem}", html='<div class="root"></div>', css=css, js=script_beside(file))

    def drawing(data: Any, key: str, **listeners: Any) -> Any:
        return renderer(data=dated(key, data), key=key, **listeners)

    return drawing


def dated(key: str, data: Any) -> list[Any]:
    """Since when a session draws these data under this key, in microseconds, and the data.

    The browser asks for a script whenever it has new data, and while the script is not there yet, Chromium often
    answers the
    later question first: what was sent last would be drawn first, and what is old would stay. With the date it is left
    out (shared.js). The date stays while the data do, for the browser draws again whatever has changed. The two come as
    a list: in a dictionary Streamlit looks for tables, with pandas, which takes the first page half a second to import.
    """
    name, content = f"dated_{key}", json.dumps(data)
    known, since = st.session_state.get(name, (None, 0))
    if known != hash(content):
        since = max(since + 1, time.time_ns() // 1000)
        st.session_state[name] = (hash(content), since)
    return [since, data]


def script_beside(file: str) -> str:
    """The script of a Python file, behind what all drawings share: the browser reads a component as one module."""
    return _SHARED.read_text(encoding="utf-8") + Path(file).with_suffix(".js").read_text(encoding="utf-8")


def draw(
    drawing: Drawing, data: Any, key: str, event: str, read: Callable[[object], V | None], on_click: Callable[[V], None]
) -> None:
    """Draw it on the page, and answer to what is clicked in it.

    Args:
        key: of the component, as for any widget.
        event: what a click sends.
        read: what was sent as what it means; None where it means nothing, for a browser may send anything.
        on_click: told what was clicked, before the page runs again.
    """

    def clicked() -> None:
        value = read(st.session_state[key].get(event))
        if value is not None:
            on_click(value)

    listeners: dict[str, Any] = {f"on_{event}_change": clicked}
    drawing(data=data, key=key, **listeners)


def listening() -> None:
    """For what is read from the component's result instead: a browser sends only what somebody listens to."""
