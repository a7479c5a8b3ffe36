"""The selected cell, receiver and sender of the page Patching."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from core.analysis.heads.head import Head
from core.analysis.interventions.pair_runs import COMPONENTS, Component
from core.analysis.interventions.patch_results import PatchedCell, PatchedComponents
from core.analysis.interventions.path_patching import HeadInput, Receiver
from core.capture import KINDS, Kind
from core.trace import KIND_NAMES
from viz_app.controls.widgets import setting_segments
from viz_app.drawing.head_names import head_title, parsed
from viz_app.drawing.theme import head_name
from viz_app.language import marked, tr, tr_lower, tr_values
from viz_app.session import address
from viz_app.session.state import session_object
from viz_app.views.experiments.patching.measurement import Patching

CELL, SENDER = address.PATCH, address.SENDER  # counted from 1: cross.5.3, and cross.5.3 for a head
RECEIVER_KIND = address.RECEIVER_KIND
INPUT_NAMES: dict[HeadInput, str] = {"query": marked("Queries"), "key": marked("Keys"), "value": marked("Values")}


@dataclass
class PatchingSelection:
    """The selected cell of the map and the selected sender of a session; None before a click."""

    cell: PatchedCell | None = None
    sender: Head | None = None

    def restore(self) -> None:
        """Select what the address names, at first and after going back."""
        if (named := CELL.take()) is not None:
            self.cell = parsed_cell(named.value)
        if (named := SENDER.take()) is not None:
            cell, self.sender = parsed_cell(named.value), None
            if cell is not None and cell.component in KINDS:
                self.sender = Head(cell.component, cell.layer, cell.position)

    def select_cell(self, cell: PatchedCell) -> None:
        """Select a cell of the map."""
        self.cell = cell

    def select_sender(self, head: Head | None) -> None:
        """Select a sender."""
        self.sender = head


def parsed_cell(text: str) -> PatchedCell | None:
    """Parse a cell such as `cross.5.3`; None for other text."""
    parts = re.fullmatch(rf"({'|'.join(COMPONENTS)})\.([1-9]\d{{0,2}})\.([1-9]\d{{0,3}})", text)
    if parts is None:
        return None
    component: Component = next(each for each in COMPONENTS if each == parts[1])
    return PatchedCell(component, int(parts[2]) - 1, int(parts[3]) - 1)


def selected_cell(patched: Patching, effects: PatchedComponents) -> PatchedCell | None:
    """Return the selected cell, and write it to the address.

    By default it is the attention layer with the largest effect, or None until all are measured.
    """
    state, runs = session_object(PatchingSelection), patched.pairs[0]
    state.restore()
    cell = state.cell
    if cell is not None and not (
        cell.layer < runs.num_layers(cell.component) and cell.position < runs.num_positions(cell.component)
    ):
        cell = state.cell = None
    CELL.put(f"{cell.component}.{cell.layer + 1}.{cell.position + 1}" if cell else "")
    return effects.strongest_cell() if cell is None and patched.job.finished else cell


def receiver_box(patched: Patching) -> tuple[Receiver, bool]:
    """Select the receiver, and whether feed-forward networks are held on the way."""
    runs = patched.pairs[0]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        kind: Kind = setting_segments(RECEIVER_KIND, tr("Receiver"), tr_values(KIND_NAMES))
        names = [
            head_name(layer, head) for layer in range(runs.num_layers(kind)) for head in range(runs.num_heads(kind))
        ]
        widget = address.RECEIVERS[kind]
        if widget.value not in names:
            widget.set(head_name(*patched.strongest_head(kind)[1:]))
        name = widget.draw(st.selectbox, tr("Head"), names, width=110)
        which: HeadInput = setting_segments(address.RECEIVER_INPUT, tr("Through its"), tr_values(INPUT_NAMES))
        hold_networks = address.HOLD_NETWORKS.draw(
            st.toggle,
            tr("Hold feed-forward networks"),
            help=tr(
                "On: only residual connections and norms carry the change from the sender to the receiver "
                "(Goldowsky-Dill et al. 2023). Off: the feed-forward networks between them change, too (Wang et al. "
                "2022)."
            ),
        )
    return Receiver(Head(kind, *parsed(name or names[0])), which), hold_networks


def receiver_title(receiver: Receiver) -> str:
    """Name a receiver: `Cross L5 H3, values`."""
    return f"{head_title(receiver.head)}, {tr_lower(INPUT_NAMES[receiver.input])}"


def selected_sender(senders: Sequence[Head]) -> Head | None:
    """Return the selected sender, None if there is none, and write it to the address."""
    state = session_object(PatchingSelection)
    state.restore()
    if state.sender not in senders:
        state.sender = None
    sender = state.sender
    SENDER.put(f"{sender.kind}.{sender.layer + 1}.{sender.head + 1}" if sender else "")
    return sender
