"""The joint view: encoder, cross and decoder attention of one layer in one matrix."""

from functools import partial

import streamlit as st

from core import Explanation
from core.analysis.attribution.methods import Method
from core.analysis.heads.head import Maps
from core.analysis.heads.mean_and_maximum import Combination
from core.analysis.joint import JointMap, joint_map
from core.capture import KINDS
from viz_app.components import word_links
from viz_app.components.attention_lines import AXES, Axis
from viz_app.components.attention_map import joint_attention_map
from viz_app.controls.downloads import downloads
from viz_app.controls.gradient_output_box import output_box
from viz_app.controls.tables import show_table
from viz_app.controls.toolbar import Options, method_box, page_theme
from viz_app.figures import head_names
from viz_app.figures.display_text import plain, sentence_case
from viz_app.figures.joint_map import export_joint, joint_table
from viz_app.session import readings, word_selection
from viz_app.session.attributions import METHOD_NAMES, METHOD_TEXTS, PER_LAYER
from viz_app.session.gradient_output import ABOUT, file_part, output_text

LAYER, HEAD, VIEW = "joint_layer", "joint_head", "joint_view"
ALL_LAYERS = "All layers"
MEAN, MAXIMUM = "Mean of heads", "Maximum of heads"
COMBINED: dict[str, Combination] = {MEAN: "mean", MAXIMUM: "maximum"}
HOW_TO_READ = """
All tokens of the source, then all of the target, look (rows) at all tokens of the source, then all of the target
(columns). Top left is the **encoder**'s self-attention, bottom left **cross**-attention, bottom right the **decoder**'s
masked self-attention. Top right is empty: the source never sees the target.

A target row holds two distributions, each with a sum of 1: one over the source, one over what was written before. They
are two steps of a layer, one after the other, so a darker cell on the left does not mean more than a lighter one on the
right.
"""


def page(reading: readings.Reading, words: bool, hide_special: bool) -> None:
    """Everything below the toolbar."""
    st.markdown("**Joint**: encoder, cross and decoder attention in one matrix", help=HOW_TO_READ)
    maps_of = reading.explanation.maps
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        method = method_box()
        output = output_box(reading, None) if method == "gradient" else None
        layer, head = _place_boxes(maps_of, method in PER_LAYER)
        view = st.segmented_control(
            "View",
            ("Map", "Table"),
            default="Map",
            required=True,
            key=VIEW,
            bind="query-params",
            label_visibility="collapsed",
        )
    try:
        joint = joint_map(
            {kind: Options(kind, "Map", words, hide_special, method, output).layers(reading) for kind in KINDS},
            layer,
            head,
        )
    except (RuntimeError, ValueError) as error:
        st.error(sentence_case(str(error)))
        return
    if method == "gradient":
        st.caption(
            f"**{METHOD_NAMES[method]}** for {plain(output_text(reading.explanation, output))}: "
            f"{METHOD_TEXTS[method]}.",
            help=ABOUT,
        )
    _lacking(joint, layer, maps_of)
    name = f"{'all layers' if layer is None else f'L{layer + 1}'} {head if isinstance(head, str) else f'H{head + 1}'}"
    if view == "Map":
        _map(reading, joint, name, words, hide_special)
    else:
        show_table(joint_table(joint), height=560)
    downloads(
        file_name(layer, head, method) + file_part(output),
        partial(export_joint, joint, name, theme=page_theme()),
        lambda: joint_table(joint),
    )


def _map(reading: readings.Reading, joint: JointMap, name: str, words: bool, hide_special: bool) -> None:
    """The matrix, the selected words framed; a click on a word selects it everywhere."""
    look = word_selection.look(reading, links(reading.explanation, words, hide_special))
    joint_attention_map(joint, name, page_theme(), **look)


def links(explanation: Explanation, words: bool, hide_special: bool) -> dict[Axis, list[str]]:
    """The words that rows and columns of the matrix belong to, see `choice.links`."""
    source, target = (
        word_links.links(explanation, kind, words, hide_special) for kind in ("encoder_self", "decoder_self")
    )
    return {axis: [*source[axis], *target[axis]] for axis in AXES}


def _place_boxes(maps_of: Maps, per_layer: bool) -> tuple[int | None, int | Combination]:
    """The layer and the head, or what to make of many."""
    layers = [ALL_LAYERS, *(f"L{layer + 1}" for layer in range(max(len(maps_of[kind]) for kind in KINDS)))]
    if st.session_state.get(LAYER) not in (None, *layers):
        st.session_state[LAYER] = layers[-1]
    layer = st.selectbox(
        "Layer", layers, index=len(layers) - 1, key=LAYER, bind="query-params", label_visibility="collapsed", width=130
    )
    num_heads = max(
        (each.num_heads for kind in KINDS for each in maps_of[kind] if f"L{each.layer + 1}" == layer), default=1
    )
    heads = [MEAN, MAXIMUM, *((f"H{head + 1}" for head in range(num_heads)) if num_heads > 1 and not per_layer else ())]
    if st.session_state.get(HEAD) not in (None, *heads):
        st.session_state[HEAD] = MEAN
    head = st.selectbox("Head", heads, key=HEAD, bind="query-params", label_visibility="collapsed", width=180)
    return None if layer == ALL_LAYERS else int(layer[1:]) - 1, COMBINED[head] if head in COMBINED else int(
        head[1:]
    ) - 1


def _lacking(joint: JointMap, layer: int | None, maps_of: Maps) -> None:
    """Why a block is empty that might have been full."""
    if not joint.missing or layer is None:
        return
    names = " and ".join(head_names.KIND_NAMES[kind].lower() for kind in joint.missing)
    encoder, decoder = maps_of["encoder_self"], maps_of["decoder_self"]
    if layer < min(len(encoder), len(decoder)):
        counts = f"the encoder has {encoder[layer].num_heads} heads, the decoder {decoder[layer].num_heads}"
    else:
        counts = f"the encoder has {len(encoder)} layers, the decoder {len(decoder)}"
    st.caption(f"No {names} attention here: {counts}.")


def file_name(layer: int | None, head: int | Combination, method: Method) -> str:
    """What an exported picture is called, without its ending; layers and heads counted from 0."""
    numbered = (
        f"joint-{'all-layers' if layer is None else f'layer{layer}'}-{head if isinstance(head, str) else f'head{head}'}"
    )
    return numbered if method == "attention" else f"{numbered}-{method}"
