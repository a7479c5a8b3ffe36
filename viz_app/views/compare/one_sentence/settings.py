"""The settings of both sides of the page Compare, and the head of each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from core.capture import AttentionMap, Kind
from viz_app.controls import toolbar
from viz_app.controls.widgets import setting_menu, setting_segments
from viz_app.drawing import head_names
from viz_app.language import tr
from viz_app.session import address, chosen_heads
from viz_app.session.attributions import MethodChoice
from viz_app.session.fields import Field
from viz_app.session.readings import TokenView
from viz_app.views.compare.one_sentence.other_side import same_target_box

LINES, _ = address.COMPARE_VIEW.codec.values
SAME = "same"  # the head of the second side that is numbered as that of the first
Layers = Mapping[int, AttentionMap]  # the maps of a side by layer


@dataclass(frozen=True)
class CompareView:
    """The settings of both sides."""

    kind: Kind
    weights: MethodChoice
    tokens: TokenView
    view: str


def view_boxes(is_by_model: bool) -> CompareView:
    """Select the settings of both sides, which may differ by their models."""
    kind = toolbar.kind_box()
    with st.popover(tr("More")):
        method = toolbar.method_box(setting=address.COMPARE_WEIGHTS)
        view = setting_segments(address.COMPARE_VIEW, tr("View"))
        if is_by_model:
            same_target_box()
        return CompareView(kind, MethodChoice(method), toolbar.token_boxes(), view)


def head_widget(view: CompareView) -> Field[str]:
    """The widget with the name of the first side's head, or of its layer."""
    return (address.COMPARE_LAYERS if view.weights.per_layer else address.COMPARE_HEADS)[view.kind]


def second_widget(view: CompareView) -> Field[str]:
    """The same of the second side, where `SAME` stands for the first side's number."""
    return (address.SECOND_LAYERS if view.weights.per_layer else address.SECOND_HEADS)[view.kind]


def _names(layers: Layers, view: CompareView) -> list[str]:
    return [view.weights.name(each.layer, head) for each in layers.values() for head in range(each.num_heads)]


def head_box(view: CompareView, layers: Layers, raw: Callable[[], Sequence[AttentionMap]]) -> head_names.LayerHead:
    """Select the head, or the layer, of the first side.

    At first that of the page Heads, or else a default head, by raw weights of all layers; of layers the last.
    """
    names, widget = _names(layers, view), head_widget(view)
    if widget.value not in names:
        if view.weights.per_layer:
            wanted = [names[-1]]
        else:
            selected = chosen_heads.heads_widget(view.kind).value
            wanted = selected or [head_names.name_of(*chosen_heads.default_head(raw()))]
        widget.set(next((each for each in wanted if each in names), names[0]))
    name = setting_menu(widget, tr("First head"), names, hide_label=True, width=110)
    return head_names.parsed(name or names[0])


def second_box(view: CompareView, layers: Layers, first: head_names.LayerHead) -> head_names.LayerHead:
    """Select the second side's head, or layer: by default that of the same number, or the last if there are fewer."""
    layer = min(first[0], max(layers))
    same = layer, min(first[1], layers[layer].num_heads - 1)
    labels = {SAME: tr("{head}, same number", head=view.weights.name(*same))}
    labels |= {name: name for name in _names(layers, view)}
    widget = second_widget(view)
    widget.keep_within(labels, SAME)
    name = setting_menu(widget, tr("Second head"), labels, hide_label=True, width=210)
    return same if name in (None, SAME) else head_names.parsed(name)
