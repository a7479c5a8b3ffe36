"""The view "First layer" of the page Positions: scores of content and position."""

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from torch import Tensor

from core.analysis.heads.head import Head
from core.analysis.recorded_call import Call
from core.analysis.score_decomposition import ScorePart, ScoreParts, SelfAttentionKind, score_parts
from core.capture import AttentionMap
from viz_app.components.attention_map import attention_map
from viz_app.components.word_links import NO_HIGHLIGHT, Highlight
from viz_app.controls.downloads import downloads
from viz_app.controls.score_products import MapCells, head_cells
from viz_app.controls.tables import show_table
from viz_app.controls.widgets import setting_menu, setting_segments
from viz_app.drawing import head_names
from viz_app.drawing.display_text import sentence_case
from viz_app.drawing.theme import Theme, head_name
from viz_app.language import localized, marked, tr, tr_lower, tr_values
from viz_app.session import address, python_code, readings
from viz_app.session.map_pass import reading_pass

FIRST_LAYER = marked("First layer")
FIRST_LAYER_TEXT = marked("every score of a head, split into the parts for content and for position that add up to it.")
FIRST_LAYER_HELP = marked("""
    Only in the first layer is the input exactly a token's embedding plus the encoding of its position. So queries and
    keys are each the sum of a content part and a position part, and their product has four parts, named after the query
    first; the bias of the queries adds a fifth. The bias of the keys adds the same to a whole row and is left out. The
    softmax depends only on the differences within a row; the percentages say how much of these comes from each part.
    They sum to 100; a part that works against the others is below 0. Numbers are scores before the softmax, not
    weights.
    """)
DISTANCE = marked(
    "This model adds no positions to its embeddings: its scores have a part for the distance of the two tokens instead."
)
WHOLE_SCORE = marked(
    "The products behind a cell of any map are those of the whole score, with the bias of the keys that the maps leave "
    "out."
)
PART_NAMES: dict[ScorePart, str] = {
    "content_content": marked("Content to content"),
    "content_position": marked("Content to position"),
    "position_content": marked("Position to content"),
    "position_position": marked("Position to position"),
    "relative": marked("Distance"),
    "bias": marked("Bias of the queries"),
}
KINDS: dict[SelfAttentionKind, str] = {
    "encoder_self": head_names.KIND_NAMES["encoder_self"],
    "decoder_self": head_names.KIND_NAMES["decoder_self"],
}


@python_code.with_result(max_entries=8)
def parts_call(reading: readings.Reading, kind: SelfAttentionKind) -> Call:
    """Return the call that splits the scores of the first layer."""
    return Call("parts", score_parts, (*python_code.sentence(reading), kind))


def first_layer(bar: DeltaGenerator, theme: Theme) -> None:
    """Draw the scores of one head, their parts, and the check that these add up; the widgets are in the bar."""
    reading = readings.reading()
    if reading is None:
        return
    with bar:
        kind = setting_segments(address.SCORE_KIND, tr("Layer"), tr_values(KINDS))
        heads = reading.explain().maps[kind][0].num_heads
        names = [head_name(0, head) for head in range(heads)]
        head = names.index(setting_menu(address.SCORE_HEAD, tr("Head"), names, width=110))
        as_table = table_box()
    try:
        recorded = parts_call(reading, kind)
    except ValueError as error:
        st.info(sentence_case(str(error)))
        return
    parts: ScoreParts = recorded.known
    if as_table:
        show_table(parts.table(head))
    else:
        draw(reading, parts, head, theme)
    st.caption(
        tr(
            "Checked now: the {count} parts sum to the model's own scores, with an error of at most {error:.1g} in all "
            "{heads} heads.",
            count=len(parts.parts),
            error=parts.error,
            heads=heads,
        )
    )
    title = tr("Scores of the first layer, {kind}, {head}", kind=tr_lower(KINDS[kind]), head=head_name(0, head))
    table = recorded.then("table", head)
    downloads(f"scores-{kind}-layer0-head{head}", None if as_table else "score-parts", table, title=title)


def table_box() -> bool:
    """Select whether to show the numbers instead of the picture."""
    return address.POSITIONS_TABLE.draw(st.toggle, tr("Table"))


def named_maps(parts: ScoreParts, head: int) -> tuple[dict[str, Tensor], float]:
    """Return the scores and their parts by name, and their largest absolute value."""
    maps = {marked("Score"): parts.total[head]} | {PART_NAMES[part]: each[head] for part, each in parts.parts.items()}
    return maps, max(float(matrix[parts.allowed].abs().max()) for matrix in maps.values())


def draw(reading: readings.Reading, parts: ScoreParts, head: int, theme: Theme) -> None:
    """Draw the scores and their parts on one scale and, below, the products behind the cell that was clicked."""
    maps, most = named_maps(parts, head)
    shares = {PART_NAMES[part]: share for part, share in parts.shares(head).items()}
    of, shown = reading_pass(reading), Head(parts.kind, 0, head)
    cells = MapCells("scores", of, head_cells(of.maps[shown[:2]], shown))
    cell = cells.selected(lambda cell: cell.head == shown)
    lit: Highlight = NO_HIGHLIGHT if cell is None else {"query": [cell.query], "key": [cell.key]}
    with st.container(key="score-parts"):
        places = [column for _ in range(2) for column in st.columns(len(maps) // 2, gap="medium")]
    for place, (name, matrix) in zip(places, maps.items(), strict=True):
        with place:
            st.markdown(f"**{tr(name)}**" + (f": {localized(shares[name], '.0%')}" if name in shares else ""))
            attention_map(
                score_map(matrix, parts, most),
                0,
                theme,
                key=f"score_{name}",
                on_cell=cells.click,
                diverging=True,
                place=lit,
                name=partial("{0}, {1}".format, tr(name), head_name(0, head)),
                most=most,
            )
    if "relative" in parts.parts:
        st.caption(tr(DISTANCE))
    st.caption(tr(WHOLE_SCORE))
    cells.show(lambda cell: cell.head == shown)


def score_map(matrix: Tensor, parts: ScoreParts, most: float) -> AttentionMap:
    """Return a part of one head's scores [Q, K], by the largest of all, as a map; NaN where the mask hides the key."""
    values = (matrix / most).masked_fill(~parts.allowed, float("nan"))
    return AttentionMap(parts.kind, 0, values[None], parts.tokens, parts.tokens, mask=parts.allowed)
