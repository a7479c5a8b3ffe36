"""What only the browser can do for the tour: open the page of a step, show its part, and leave by Escape."""

from collections.abc import Callable

from viz_app.components.component import registered_component

_component = registered_component(__file__)


def tour_lead(
    part: tuple[str, str] | None,
    *,
    follow: bool,
    move: int,
    on_leave: Callable[[], None],
    key: str = "tour_lead",
) -> None:
    """Lead to the current step, without drawing anything.

    Args:
        part: selectors of the part to scroll to and of what is to have the focus, "" for nothing; None: the step has no
            part on this page.
        follow: whether to follow the link of the tour.
        move: number of the change that led to the step: each is answered once.
        on_leave: called when the visitor presses Escape.
        key: key of the component, as for any widget.
    """
    data = {"part": part and part[0], "focus": part and part[1], "follow": follow, "move": move}
    _component(data=data, key=key, on_leave_change=on_leave)
