"""The part of the page Positions about the first layer: how much of its scores is about words, and how much about
places.
"""

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from core.analysis.score_decomposition import Part, ScoreParts, SelfAttentionKind, score_parts
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import show_table
from viz_app.figures import head_names, position_tables
from viz_app.figures.export.canvas import Format
from viz_app.figures.export.map_panels import export_panels
from viz_app.figures.plotly_chart import CHART_CONFIG
from viz_app.figures.score_map import score_map
from viz_app.figures.theme import Theme, head_name
from viz_app.session import memory, readings

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator
    from torch import Tensor

FIRST_LAYER = "First layer"
FIRST_LAYER_TEXT = "what its heads ask for, words or places: every score split into the parts that it is the sum of."
FIRST_LAYER_HELP = """
    Only in the first layer is what goes in exactly a token's embedding plus the encoding of its position. So a query is
    one part content and one part position, a key too, and their product falls into four, named after the query first; a
    fifth part is what the bias of the queries adds. The bias of the keys adds the same to a whole row and is left out.
    The percentages say how much of the differences within a row, which are all that the softmax sees, come from each
    part: they sum to 100, and a part that works against the others is below 0. Numbers are scores before the softmax,
    not weights.
    """
PART_NAMES: dict[Part, str] = {
    "content_content": "Content asks for content",
    "content_position": "Content asks for position",
    "position_content": "Position asks for content",
    "position_position": "Position asks for position",
    "bias": "Bias of the queries",
}
KINDS: dict[SelfAttentionKind, str] = {
    "encoder_self": head_names.KIND_NAMES["encoder_self"],
    "decoder_self": head_names.KIND_NAMES["decoder_self"],
}


@st.cache_resource(show_spinner=False)
def _remembered() -> "memory.Memory[ScoreParts]":
    return memory.Memory(8)


def first_layer(bar: "DeltaGenerator", theme: Theme) -> None:
    """One head's scores, their parts, and the check that these add up.

    Args:
        bar: where the choices go.
    """
    reading = readings.reading()
    if reading is None:
        st.caption("The scores appear here as soon as there is a sentence to look at.")
        return
    with bar:
        kind: SelfAttentionKind = st.segmented_control(
            "Layer",
            tuple(KINDS),
            default="encoder_self",
            required=True,
            format_func=KINDS.__getitem__,
            key="score_kind",
            bind="query-params",
        )
        heads = reading.explanation.maps[kind][0].num_heads
        names = [head_name(0, head) for head in range(heads)]
        head = names.index(st.selectbox("Head", names, key="score_head", bind="query-params", width=110))
        as_table = table_box()
    source, target = reading.translation.source, reading.hypothesis.token_ids
    found = _remembered().get(
        (reading.identity, kind), lambda: score_parts(reading.model.translator, source, target, kind)
    )
    if as_table:
        show_table(position_tables.score_table(found, head))
    else:
        draw(found, head, theme)
    st.caption(
        f"Checked now: the five parts sum to the model's own scores, off by at most {found.error:.1g} in all {heads} "
        f"heads."
    )
    downloads(
        f"scores-{kind}-layer0-head{head}",
        partial(export, found, head, theme),
        lambda: position_tables.score_table(found, head),
    )


def table_box() -> bool:
    """Whether the numbers are shown rather than the picture."""
    return st.toggle("Table", key="positions_table", bind="query-params")


def named_maps(found: ScoreParts, head: int) -> "tuple[dict[str, Tensor], float]":
    """The sum and its parts, and the largest size of any score, for the scale of all."""
    maps = {"Score, the sum": found.total[head]} | {name: found.parts[part][head] for part, name in PART_NAMES.items()}
    return maps, max(float(matrix[found.allowed].abs().max()) for matrix in maps.values())


def export(found: ScoreParts, head: int, theme: Theme, file_format: Format) -> bytes:
    """The same maps as a file."""
    maps, most = named_maps(found, head)
    panels = [(name, matrix.masked_fill(~found.allowed, float("nan")).float().numpy()) for name, matrix in maps.items()]
    tokens = (found.tokens, found.tokens)
    return export_panels(
        [panels[:3], panels[3:]], file_format, theme, title=f"{head_name(0, head)} score", most=most, tokens=tokens
    )


def draw(found: ScoreParts, head: int, theme: Theme) -> None:
    """The sum and its parts, all on one scale."""
    maps, most = named_maps(found, head)
    shares = {PART_NAMES[part]: share for part, share in found.shares(head).items()}
    with st.container(key="score-parts"):
        places = [column for _ in range(2) for column in st.columns(3, gap="medium")]
    for place, (name, matrix) in zip(places, maps.items(), strict=True):
        with place:
            st.markdown(f"**{name}**" + (f": {shares[name]:.0%}" if name in shares else ""))
            figure = score_map(matrix, found, most, theme)
            st.plotly_chart(
                figure, theme=None, config=CHART_CONFIG, key=f"score_{name}", alt=f"{name}, {head_name(0, head)}"
            )
