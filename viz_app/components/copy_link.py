"""A button that copies the address of the current view."""

from viz_app.components.component import component_beside

_component = component_beside(__file__)


def copy_link() -> None:
    """Draw the button, which needs no data, as the browser knows its own address."""
    _component(data=None, key="copy_link", width="stretch")
