"""The selected edge and node of the page Head to head, kept in the address."""

import re
from dataclasses import dataclass
from typing import get_args

from core.analysis.composition.edges import INPUTS, Edge, Input, Node, NodePart
from viz_app.session import address
from viz_app.session.chosen_heads import select_head
from viz_app.session.state import session_object

EDGE = address.PATH  # counted from 1: encoder_self.1.2-cross.5.3-value
_NODE = re.compile(rf"({'|'.join(get_args(NodePart))})(?:\.([1-9]\d{{0,2}}))?(?:\.([1-9]\d{{0,2}}))?")


@dataclass
class SelectedPath:
    """The selection of a session; None before a click."""

    edge: Edge | None = None
    node: Node | None = None

    def select(self, place: Node | Edge) -> None:
        """Select an edge, or a node: then its head also on the page Heads."""
        if isinstance(place, Edge):
            self.edge, self.node = place, None
            return
        self.node = place
        head = place.as_head
        if head is not None:
            select_head(head)


def selection() -> SelectedPath:
    """Return the selection; at first and after going back, that of the address."""
    state = session_object(SelectedPath)
    if (named := EDGE.take()) is not None:
        state.edge = parsed_edge(named.value)
    return state


def keep_in_address(edge: Edge | None) -> None:
    """Write the selected edge to the address."""
    EDGE.put("" if edge is None else f"{_written(edge.sender)}-{_written(edge.receiver)}-{edge.input}")


def _written(node: Node) -> str:
    return ".".join([node.part, *(str(each + 1) for each in (node.layer, node.head) if each is not None)])


def parsed_edge(text: str) -> Edge | None:
    """Parse an edge such as `encoder_self.1.2-cross.5.3-value`; None for other text."""
    names = text.split("-")
    which: Input | None = next((each for each in INPUTS if each == names[-1]), None)
    if len(names) != 3 or which is None:
        return None
    sender, receiver = (_parsed_node(name) for name in names[:2])
    return None if sender is None or receiver is None else Edge(sender, receiver, which)


def _parsed_node(text: str) -> Node | None:
    parts = _NODE.fullmatch(text)
    if parts is None:
        return None
    part: NodePart = next(each for each in get_args(NodePart) if each == parts[1])
    layer, head = (None if number is None else int(number) - 1 for number in parts.groups()[1:])
    return Node(part, layer, head)
