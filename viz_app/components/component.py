"""Registration of components, and handling of the values that the browser sends."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st
from streamlit.components.v2 import component

from core.files.bundle import bundled_script, bundled_style
from viz_app.language import ScriptText, texts_for_script

V = TypeVar("V")
Drawing = Callable[..., Any]  # called with data, a key and listeners
_LITERAL = r'"(?:[^"\\]|\\.)*"'
_IN_SCRIPT = re.compile(rf"\btr(?:Count)?\(\s*({_LITERAL})(?:,\s*({_LITERAL}))?")


def component_beside(file: str) -> Drawing:
    """Return the component of the style sheet and the script beside a Python file, with their imports and its texts."""
    path = Path(file)
    css, js = bundled_style(path.with_suffix(".css")), bundled_script(path.with_suffix(".js"))
    renderer = component(f"headlight_{path.stem}", html='<div class="root"></div>', css=css, js=js)
    names = script_texts(js)

    def drawing(data: Any, key: str, **listeners: Any) -> Any:
        return renderer(data=[*dated(key, data), texts_for_script(names), key], key=key, **listeners)

    return drawing


def script_texts(source: str) -> tuple[ScriptText, ...]:
    """Find the literals that are arguments of `tr` and `trCount`: in milliseconds, where Babel takes seconds."""
    literals = ([json.loads(form) for form in each.groups() if form] for each in _IN_SCRIPT.finditer(source))
    return tuple((one, other[0]) if other else (one,) for one, *other in literals)


def dated(key: str, data: Any) -> list[Any]:
    """Return the time of the last change of a component's data, in microseconds, and the data.

    The browser loads a component's script for each new set of data, and until the script is cached Chromium often
    resolves the later load first: the data sent last would be drawn first and then be replaced by older ones. With the
    time the older ones are skipped (`component` in renderer.js). The time stays the same while the data do, because the
    browser draws everything that has changed again. The two are a list: in a dictionary Streamlit looks for tables with
    pandas, whose import takes half a second of the first page.
    """
    name = f"dated_{key}"
    known, since, last = st.session_state.get(name, (None, 0, None))
    if last is not None and last is data:  # kept from an earlier run
        return [since, data]
    content = hash(json.dumps(data))
    if known != content:
        since = max(since + 1, time.time_ns() // 1000)
    st.session_state[name] = (content, since, data)
    return [since, data]


def draw(
    drawing: Drawing,
    data: Any,
    key: str,
    event: str,
    read: Callable[[object], V | None],
    on_click: Callable[[V], None],
    **others: Any,
) -> None:
    """Draw a component on the page and handle its clicks, which set the trigger value of an event.

    Args:
        read: Validates the value: a browser may send anything. Returns None for an invalid one.
        on_click: Called with the valid value, before the page runs again.
        others: Listeners of other trigger values, as `on_NAME_change`, and options of the component's place.
    """

    def clicked() -> None:
        value = read(st.session_state[key].get(event))
        if value is not None:
            on_click(value)

    drawing(data=data, key=key, **{f"on_{event}_change": clicked}, **others)


def sent_index(value: object, count: int) -> int | None:
    """Return the index that the browser sent, or None if there are not so many."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < count else None


def listening() -> None:
    """Do nothing: a listener for values that are read from the component's result.

    The browser sends only values that have a listener.
    """
