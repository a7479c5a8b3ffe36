"""The selected cell, receiver and sender of the page Patching."""

import streamlit as st

from core.analysis.heads.head import Head
from core.analysis.interventions.pair_runs import COMPONENTS, Component
from core.analysis.interventions.patch_results import PatchedCell, PatchedComponents
from core.analysis.interventions.path_patching import HeadInput, Receiver
from core.capture import Kind
from core.trace import KIND_NAMES
from viz_app.controls.widgets import setting_menu, setting_segments
from viz_app.drawing.head_names import parsed
from viz_app.drawing.theme import head_name
from viz_app.language import marked, tr, tr_values
from viz_app.session import address
from viz_app.views.experiments.patching.measurement import Patching

RECEIVER_KIND = address.RECEIVER_KIND
INPUT_NAMES: dict[HeadInput, str] = {"query": marked("Queries"), "key": marked("Keys"), "value": marked("Values")}


def selected_cell(patched: Patching, effects: PatchedComponents) -> PatchedCell | None:
    """Return the selected cell, and write it to the address.

    By default it is the attention layer with the largest effect, or None until all are measured.
    """
    runs = patched.pairs[0]

    def exists(cell: tuple[Component, int, int]) -> bool:
        component, layer, position = cell
        is_one = component in COMPONENTS
        return is_one and layer < runs.num_layers(component) and position < runs.num_positions(component)

    if cell := address.PATCH.selected(possible=exists):
        return PatchedCell(*cell)
    return effects.strongest_cell() if patched.job.finished else None


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
        name = setting_menu(widget, tr("Head"), names, width=110)
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
