"""The joint view: encoder, cross and decoder attention of one layer in one matrix."""

from functools import partial

import streamlit as st

from core.analysis.combined import Combination
from core.analysis.joint import JointMap, joint_map
from core.analysis.methods import Method
from core.capture import KINDS
from viz_app import choice, state
from viz_app.downloads import downloads
from viz_app.figures.base import CHART_CONFIG
from viz_app.figures.joint_map import export_joint, joint_figure, joint_table
from viz_app.methods import PER_LAYER, method_maps
from viz_app.text import sentence_case
from viz_app.toolbar import method_box, page_theme, prepared

LAYER, HEAD, VIEW = "joint_layer", "joint_head", "joint_view"
ALL_LAYERS = "All layers"
MEAN, MAXIMUM = "Mean of heads", "Maximum of heads"
COMBINED: dict[str, Combination] = {MEAN: "mean", MAXIMUM: "maximum"}
HOW_TO_READ = """
All tokens of the source, then all of the target, look (rows) at all tokens of the source, then all of the target (columns).
Top left is the **encoder**'s self-attention, bottom left **cross**-attention, bottom right the **decoder**'s masked self-attention. Top right is
empty: the source never sees the target.

A target row holds two distributions, each with a sum of 1: one over the source, one over what was written before. They are two steps of a
layer, one after the other, so a darker cell on the left does not mean more than a lighter one on the right.
"""


def page(reading: state.Reading, words: bool, hide_special: bool) -> None:
    """Everything below the toolbar."""
    st.markdown("**Joint**: encoder, cross and decoder attention in one matrix", help=HOW_TO_READ)
    maps_of = reading.explanation.maps
    num_layers = max(len(maps_of[kind]) for kind in KINDS)
    num_heads = max(attention.num_heads for kind in KINDS for attention in maps_of[kind])
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        method = method_box()
        layer, head = _place_boxes(num_layers, 1 if method in PER_LAYER else num_heads)
        view = st.segmented_control(
            "View", ("Map", "Table"), default="Map", required=True, key=VIEW, bind="query-params", label_visibility="collapsed"
        )
    try:
        found = method_maps(reading, method)
        joint = joint_map({kind: [prepared(attention, words, hide_special) for attention in found[kind]] for kind in KINDS}, layer, head)
    except (RuntimeError, ValueError) as error:
        st.error(sentence_case(str(error)))
        return
    _lacking(joint, layer, len(maps_of["encoder_self"]), len(maps_of["decoder_self"]))
    name = f"{'all layers' if layer is None else f'L{layer + 1}'} {head if isinstance(head, str) else f'H{head + 1}'}"
    if view == "Map":
        figure = joint_figure(joint, page_theme())
        st.plotly_chart(figure, theme=None, config=CHART_CONFIG, key="joint_map", alt=f"Joint attention of {name}")
    else:
        st.dataframe(joint_table(joint), hide_index=True, height=560)
    downloads(file_name(layer, head, method), partial(export_joint, joint, name, theme=page_theme()), lambda: joint_table(joint))


def _place_boxes(num_layers: int, num_heads: int) -> tuple[int | None, int | Combination]:
    """The layer and the head, or what to make of many."""
    layers = [ALL_LAYERS, *(f"L{layer + 1}" for layer in range(num_layers))]
    if st.session_state.get(LAYER) not in (None, *layers):
        st.session_state[LAYER] = layers[-1]
    layer = st.selectbox("Layer", layers, index=len(layers) - 1, key=LAYER, bind="query-params", label_visibility="collapsed", width=130)
    heads = [MEAN, MAXIMUM, *((f"H{head + 1}" for head in range(num_heads)) if layer != ALL_LAYERS and num_heads > 1 else ())]
    if st.session_state.get(HEAD) not in (None, *heads):
        st.session_state[HEAD] = MEAN
    head = st.selectbox("Head", heads, key=HEAD, bind="query-params", label_visibility="collapsed", width=180)
    return None if layer == ALL_LAYERS else int(layer[1:]) - 1, COMBINED[head] if head in COMBINED else int(head[1:]) - 1


def _lacking(joint: JointMap, layer: int | None, encoder_layers: int, decoder_layers: int) -> None:
    """Why a block is empty that might have been full."""
    if joint.missing and layer is not None:
        names = " and ".join(choice.KIND_NAMES[kind].lower() for kind in joint.missing)
        st.caption(f"No {names} attention here: the encoder has {encoder_layers} layers, the decoder {decoder_layers}.")


def file_name(layer: int | None, head: int | Combination, method: Method) -> str:
    """What an exported picture is called, without its ending; layers and heads counted from 0."""
    numbered = f"joint-{'all-layers' if layer is None else f'layer{layer}'}-{head if isinstance(head, str) else f'head{head}'}"
    return numbered if method == "attention" else f"{numbered}-{method}"
