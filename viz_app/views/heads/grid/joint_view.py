"""The joint view: encoder, cross and decoder attention of one layer in one matrix."""

from functools import partial, reduce

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import Explanation
from core.analysis.attribution.methods import Method
from core.analysis.heads.head import Head, Maps
from core.analysis.heads.mean_and_maximum import Combination
from core.analysis.joint_map import JointMap, joint_map
from core.analysis.recorded_call import Call
from core.capture import KINDS, Kind
from viz_app.components import word_links
from viz_app.components.attention_map import joint_attention_map
from viz_app.components.word_links import AXES, Axis
from viz_app.controls.downloads import downloads
from viz_app.controls.score_products import Locate, MapCells, no_products
from viz_app.controls.tables import show_table
from viz_app.controls.toolbar import method_box
from viz_app.controls.widgets import page_theme, setting_menu, setting_segments
from viz_app.drawing import head_names
from viz_app.drawing.display_text import plain
from viz_app.language import marked, tr, tr_lower
from viz_app.session import address, attributions, python_code, readings, word_selection
from viz_app.session.map_pass import reading_pass
from viz_app.session.readings import TokenView
from viz_app.session.state import refusals_shown
from viz_app.views.heads.grid.heads_view import output_box

LAYER, HEAD = address.JOINT_LAYER, address.JOINT_HEAD
ALL_LAYERS = marked("All layers")
MEAN, MAXIMUM = marked("Mean of heads"), marked("Maximum of heads")
COMBINED: dict[str, Combination] = {MEAN: marked("mean"), MAXIMUM: marked("maximum")}
HOW_TO_READ = marked("""
Rows and columns are all tokens of the source, then all of the target. Top left is the **encoder**'s self-attention,
bottom left **cross**-attention, bottom right the **decoder**'s masked self-attention. Top right is empty: the source
never attends to the target.

A target row has two distributions, each with a sum of 1: one over the source, one over the tokens before it. They are
two steps of a layer, one after the other, so cells on the left and on the right cannot be compared.
""")


def page(reading: readings.Reading, tokens: TokenView, boxes: DeltaGenerator) -> None:
    """Draw everything below the toolbar, which has a place for boxes."""
    st.markdown(tr("**Joint**: encoder, cross and decoder attention in one matrix"), help=tr(HOW_TO_READ))
    explanation = reading.explain()
    with boxes:
        method = method_box(reading.methods, hide_label=True)
        output = output_box(reading, None) if method == "gradient" else None
        layer, head = _place_boxes(explanation.maps, method in attributions.PER_LAYER)
        view = setting_segments(address.JOINT_VIEW, tr("View"), hide_label=True)
    with refusals_shown():
        joint = joint_map({kind: reading.maps(kind, tokens, method, output) for kind in KINDS}, layer, head)
    if method == "gradient":
        text = tr(
            "**{method}** for {output}: {about}.",
            method=tr(attributions.METHOD_NAMES[method]),
            output=plain(attributions.output_text(explanation, output)),
            about=tr(attributions.METHOD_TEXTS[method]),
        )
        st.caption(text, help=tr(attributions.ABOUT_OUTPUT))
    _missing_blocks(joint, layer, explanation.maps)
    of_heads = tr(head) if isinstance(head, str) else f"H{head + 1}"
    name = tr("all layers {heads}", heads=of_heads) if layer is None else f"L{layer + 1} {of_heads}"
    options = word_selection.drawing_options(reading, links(explanation, tokens))
    if view == "Map":
        if none := no_products(reading.model, method, layer is not None and isinstance(head, int)):
            joint_attention_map(joint, name, page_theme(), **options)
            st.caption(none)
        else:
            assert layer is not None
            assert isinstance(head, int)
            cells = MapCells("joint_map", reading_pass(reading), joint_cells(reading, joint, tokens, layer, head))
            joint_attention_map(joint, name, page_theme(), on_cell=cells.click, **options)
            cells.show(lambda cell: cell.head[1:] == (layer, head))
    else:
        show_table(joint.table(), height=560)
    title = tr("Joint attention, {place}", place=name)
    call = partial(joint_call, reading, tokens, method, output, layer, head)
    downloads(
        file_name(layer, head, method) + attributions.file_part(output),
        "joint_map" if view == "Map" else None,
        call,
        title=title,
    )


def joint_call(
    reading: readings.Reading,
    tokens: TokenView,
    method: Method,
    output: attributions.Output | None,
    layer: int | None,
    head: int | Combination,
) -> Call:
    """Return the call of the table of the joint map."""
    recorded = python_code.recorded_pass(reading)
    shown = {kind: recorded.maps(kind, tokens, method, output) for kind in KINDS}
    maps = Call("joint_maps", dict, (), shown)
    return Call("joint", joint_map, (maps, layer, head)).then("table")


def links(explanation: Explanation, tokens: TokenView) -> dict[Axis, list[str]]:
    """Name the words that rows and columns of the matrix belong to."""
    source, target = (word_selection.links(explanation, kind, tokens) for kind in ("encoder_self", "decoder_self"))
    return {axis: [*source[axis], *target[axis]] for axis in AXES}


def joint_cells(reading: readings.Reading, joint: JointMap, tokens: TokenView, layer: int, head: int) -> Locate:
    """Locate the cells of the joint map of one head."""
    places = {kind: word_links.positions(reading.explain(), kind, tokens.words, tokens.hide_special) for kind in KINDS}

    def locate(row: int, column: int) -> tuple[Head, range, range] | None:
        kind, row, column = joint_cell(joint, row, column)
        if kind is None or kind in joint.missing:
            return None
        return Head(kind, layer, head), places[kind]["query"][row], places[kind]["key"][column]

    return locate


def joint_cell(joint: JointMap, row: int, column: int) -> tuple[Kind | None, int, int]:
    """Return the kind of attention of a cell, None if none, and its row and column in the map of that kind."""
    if row < joint.source_rows:
        kind: Kind | None = "encoder_self" if column < joint.source_columns else None
        return kind, row, column
    if column < joint.source_columns:
        return "cross", row - joint.source_rows, column
    return "decoder_self", row - joint.source_rows, column - joint.source_columns


def _place_boxes(maps: Maps, per_layer: bool) -> tuple[int | None, int | Combination]:
    """Select the layer, None for all, and the head or a combination of all heads."""
    layers = [ALL_LAYERS, *(f"L{layer + 1}" for layer in range(max(len(maps[kind]) for kind in KINDS)))]
    layer = setting_menu(LAYER, tr("Layer"), layers, layers[-1], hide_label=True, width=110)
    num_heads = max(
        (each.num_heads for kind in KINDS for each in maps[kind] if f"L{each.layer + 1}" == layer), default=1
    )
    heads = [MEAN, MAXIMUM, *((f"H{head + 1}" for head in range(num_heads)) if num_heads > 1 and not per_layer else ())]
    head = setting_menu(HEAD, tr("Head"), heads, hide_label=True, width=150)
    number = None if layer == ALL_LAYERS else int(layer[1:]) - 1
    return number, COMBINED[head] if head in COMBINED else int(head[1:]) - 1


def _missing_blocks(joint: JointMap, layer: int | None, maps: Maps) -> None:
    """Say why a block is empty that the model has in other layers or heads."""
    if not joint.missing or layer is None:
        return
    kinds = reduce(
        lambda one, other: tr("{one} and {other}", one=one, other=other),
        (tr_lower(head_names.KIND_NAMES[kind]) for kind in joint.missing),
    )
    encoder, decoder = maps["encoder_self"], maps["decoder_self"]
    if layer < min(len(encoder), len(decoder)):
        text = tr(
            "No {kinds} attention here: the encoder has {encoder} heads, the decoder {decoder}.",
            kinds=kinds,
            encoder=encoder[layer].num_heads,
            decoder=decoder[layer].num_heads,
        )
    else:
        text = tr(
            "No {kinds} attention here: the encoder has {encoder} layers, the decoder {decoder}.",
            kinds=kinds,
            encoder=len(encoder),
            decoder=len(decoder),
        )
    st.caption(text)


def file_name(layer: int | None, head: int | Combination, method: Method) -> str:
    """Name an exported file, without its suffix; layers and heads are counted from 0."""
    numbered = (
        f"joint-{'all-layers' if layer is None else f'layer{layer}'}-{head if isinstance(head, str) else f'head{head}'}"
    )
    return numbered if method == "attention" else f"{numbered}-{method}"
