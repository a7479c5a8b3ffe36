"""What only the browser can do for the frame: mark page links, translate uploaders, lead the tour."""

from collections.abc import Callable, Mapping
from typing import Any

from viz_app.components.component import component_beside

KEY = "frame_script"

_component = component_beside(__file__)


def frame_script(
    current: str, groups: Mapping[str, str], tour: Mapping[str, Any] | None, on_leave: Callable[[], None]
) -> None:
    """Do all of it, without drawing anything.

    Args:
        current: address of the view whose links are marked; "" for the first.
        groups: names of the groups of links, by the keys of their containers.
        tour: its step, see `Step` in tour_lead.js, which Escape leaves; None while it is off.
    """
    data = {"links": {"current": current, "groups": dict(groups)}, "tour": tour}
    _component(data=data, key=KEY, on_leave_change=on_leave)


def scroll_to(key: str, move: int) -> None:
    """Scroll to the container of the page that has this key, as a step of the tour does, once for each `move`."""
    step = {"part": f".st-key-{key}", "focus": "", "follow": False, "move": f"{key} {move}"}
    _component(data={"links": {"current": "", "groups": {}}, "tour": step}, key="scroll_to")
