"""Buttons for the files of a picture, which the browser makes of what it has drawn, and for its slide."""

from collections.abc import Callable

from viz_app.components.component import component_beside, draw

_component = component_beside(__file__)


def picture_files(name: str, picture: str, caption: str, shown: bool, on_slide: Callable[[bool], None]) -> None:
    """Draw the buttons.

    Args:
        name: Of the files, without a suffix.
        picture: Key of the component, chart or container that draws the picture.
        caption, shown: Of its slide, and whether it is open; `on_slide` is called when it was opened or closed.
    """
    data = {"name": name, "picture": picture, "caption": caption, "shown": shown}
    draw(_component, data, f"files_{name}", "slide", _is_shown, on_slide, width="content")


def _is_shown(value: object) -> bool | None:
    return value if isinstance(value, bool) else None
