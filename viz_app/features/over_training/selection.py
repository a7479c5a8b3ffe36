"""The selected step, head and score of the page Over training."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import streamlit as st

from core.analysis.alignment.first_head import first_head
from core.analysis.heads.head import Head
from core.capture import AttentionMap, Kind
from viz_app.figures.head_names import LayerHead
from viz_app.session.state import Widget, put_in_address, session_object

STEP = Widget[int]("trained_steps")
BASIS = Widget[str]("trained_on")  # read before it is drawn
BASES = ("Sample", "Sentence")
HEAD = "trained_head"  # query parameter, counted from 1: 3.2


@dataclass
class SelectedHeads:
    """The selected head of each kind of attention; none before a click."""

    heads: dict[Kind, LayerHead] = field(default_factory=dict["Kind", LayerHead])
    was_restored: bool = False

    def select(self, kind: Kind, head: LayerHead) -> None:
        """Select a head."""
        self.heads[kind] = head


def selected_head(kind: Kind, maps: Sequence[AttentionMap]) -> Head:
    """Return the selected head of a kind, and write it to the address.

    By default it is the one that the page Heads would show first.

    Args:
        maps: of the last snapshot.
    """
    state = session_object(SelectedHeads)
    if not state.was_restored:
        state.was_restored = True
        if parts := re.fullmatch(r"([1-9]\d{0,2})\.([1-9]\d{0,2})", st.query_params.get(HEAD, "")):
            state.heads[kind] = int(parts[1]) - 1, int(parts[2]) - 1
    layer, head = state.heads.get(kind, (-1, -1))
    if not 0 <= layer < len(maps) or head >= maps[layer].num_heads:
        state.heads.pop(kind, None)
        put_in_address(HEAD, "")
        return first_head(maps)
    put_in_address(HEAD, f"{layer + 1}.{head + 1}")
    return Head(kind, layer, head)
