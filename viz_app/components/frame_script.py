"""What only the browser can do for the frame: mark page links, translate uploaders."""

from collections.abc import Mapping

from viz_app.components.component import component_beside

KEY = "frame_script"

_component = component_beside(__file__)


def frame_script(current: str, groups: Mapping[str, str]) -> None:
    """Do both, without drawing anything.

    Args:
        current: address of the view whose links are marked; "" for the first.
        groups: names of the groups of links, by the keys of their containers.
    """
    _component(data={"current": current, "groups": dict(groups)}, key=KEY)


def scroll_to(key: str, move: int) -> None:
    """Scroll to the container of the page that has this key, once for each `move`."""
    _component(data={"part": f".st-key-{key}", "move": f"{key} {move}"}, key="scroll_to")
