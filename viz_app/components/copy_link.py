"""A button that copies the address of the current view."""

from viz_app.components.component import registered_component

_component = registered_component(__file__)


def copy_link(key: str = "copy_link") -> None:
    """Draw the button, which needs no data: the browser knows its own address."""
    _component(key=key)
