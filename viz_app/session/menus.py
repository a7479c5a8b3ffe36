"""Menus whose widgets the browser does not show all the time.

The browser sets a widget to the value that the app gives it when it shows the widget; until then it sends the previous
value. So after the visitor went back or forward, the values of a closed menu are outdated.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from viz_app.session.fields import is_history_navigation
from viz_app.session.state import session_object


@dataclass
class _Menus:
    """Whether the values that the browser sends are outdated, by the key of the menu."""

    are_old: defaultdict[str, bool] = field(default_factory=lambda: defaultdict[str, bool](bool))


def are_values_old(key: str, is_open: bool | None) -> bool:
    """Return whether the browser's values of the widgets in a menu are outdated. Call it once in a run.

    The menu is a popover that is drawn with `on_change="rerun"`; `is_open` is its attribute `open`.
    """
    state = session_object(_Menus).are_old
    are_old = state[key] or is_history_navigation()
    state[key] = are_old and not is_open  # from the next run on: this one comes before the browser shows them
    return are_old
