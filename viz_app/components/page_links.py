"""Names of groups of page links for screen readers, and the mark of the current one."""

from collections.abc import Mapping

from viz_app.components.component import registered_component

_component = registered_component(__file__)


def page_links(current: str, groups: Mapping[str, str]) -> None:
    """Mark the page links of the app that lead to the current view, without drawing anything.

    Args:
        current: address of the view; "" for the first.
        groups: names of the groups of links, by the keys of their containers.
    """
    _component(data={"current": current, "groups": dict(groups)}, key="page_links")
