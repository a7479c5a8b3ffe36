"""Widgets of several pages: method, kind of attention, and tokens to show."""

from collections.abc import Collection, Sequence
from typing import Any, cast

import streamlit as st

from core.analysis.attribution.methods import Method
from core.capture import KINDS, Kind
from viz_app.controls.widgets import setting_menu, setting_segments
from viz_app.drawing import head_names
from viz_app.language import marked, tr
from viz_app.session import address
from viz_app.session.address import HIDE_SPECIAL, WHOLE_WORDS
from viz_app.session.attributions import METHOD_NAMES
from viz_app.session.chosen_heads import JOINT, KIND, KindOrJoint
from viz_app.session.fields import Field
from viz_app.session.readings import TokenView

KIND_NAMES: dict[KindOrJoint, str] = {**head_names.KIND_NAMES, JOINT: marked("Joint")}


def method_box(
    methods: Sequence[Method] = tuple(METHOD_NAMES), setting: Field[Method] = address.WEIGHTS, **options: Any
) -> Method:
    """Select one of some attribution methods; options as of `setting_menu`."""
    names: dict[Method, str] = {method: tr(METHOD_NAMES[method]) for method in methods}
    return setting_menu(setting, tr("Weights"), names, width=205, **options)


def kind_box() -> Kind:
    """Select a kind of attention."""
    return cast("Kind", _kind_box(KINDS))


def kind_or_joint_box(kinds: Collection[Kind]) -> KindOrJoint:
    """Select a kind of attention, or all three in one matrix if there are three."""
    available: list[KindOrJoint] = [kind for kind in KINDS if kind in kinds]
    return _kind_box((*available, JOINT) if len(available) == len(KINDS) else tuple(available))


def _kind_box(kinds: tuple[KindOrJoint, ...]) -> KindOrJoint:
    default: KindOrJoint = "cross" if "cross" in kinds else kinds[0]
    names: dict[KindOrJoint, str] = {kind: tr(KIND_NAMES[kind]) for kind in kinds}
    return setting_segments(KIND, tr("Attention"), names, default, hide_label=True)


def token_boxes(*, are_old: bool = False) -> TokenView:
    """Select whether sub-words are merged, and whether special tokens are hidden; `are_old` as of `are_values_old`."""
    with st.container(horizontal=True, gap="medium", width="content"):  # keeps both on one line
        words = WHOLE_WORDS.draw(
            st.toggle,
            tr("Whole words"),
            is_old=are_old,
            help=tr(
                "Merges the sub-words of each source word: columns are summed, rows averaged. The translation is "
                "written a sub-word at a time: each of its rows and columns is a step, and stays."
            ),
        )
        hide_special = HIDE_SPECIAL.draw(
            st.toggle,
            tr("Hide special tokens"),
            is_old=are_old,
            help=tr(
                "Leaves out tokens that are not of the text, such as `<s>` and `</s>`. Rows may then sum to less than "
                "1; the rest went to them."
            ),
        )
    return TokenView(words, hide_special)
