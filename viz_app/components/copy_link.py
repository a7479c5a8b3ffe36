"""A button that copies the address of the current view."""

from typing import Literal

from viz_app.components.component import registered_component, texts_beside
from viz_app.language import texts_for_script

_component = registered_component(__file__)
_TEXTS = texts_beside(__file__)


def copy_link(key: str = "copy_link", width: Literal["stretch", "content"] = "stretch") -> None:
    """Draw the button, which needs no data but its texts, as the browser knows its own address."""
    _component(data=texts_for_script(_TEXTS), key=key, width=width)
