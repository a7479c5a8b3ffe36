"""A drawing of our own: the files beside its Python file make it, and what the browser sends of a click is read back."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st
from streamlit.components.v2 import component
from streamlit.components.v2.types import ComponentRenderer

V = TypeVar("V")

_SHARED = Path(__file__).with_name("shared.js")


def component_beside(file: str) -> ComponentRenderer:
    """The component of a Python file: its style sheet and its script, which have the same name."""
    here = Path(file)
    css = here.with_suffix(".css").read_text(encoding="utf-8")
    return component(f"headlight_{here.stem}", html='<div class="root"></div>', css=css, js=script_beside(file))


def script_beside(file: str) -> str:
    """The script of a Python file, behind what all drawings share: the browser reads a component as one module."""
    return _SHARED.read_text(encoding="utf-8") + Path(file).with_suffix(".js").read_text(encoding="utf-8")


def draw(drawing: ComponentRenderer, data: Any, key: str, event: str, read: Callable[[object], V | None], on_click: Callable[[V], None]) -> None:
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
