"""Positions: what is added to the embeddings so that the model knows which word stands where."""

import streamlit as st

from core.analysis.positions import Measure
from viz_app import state
from viz_app.figures import positions, tables
from viz_app.figures.base import CHART_CONFIG
from viz_app.figures.theme import theme_named
from viz_app.text import plain

ENCODING, SINUSOIDS, SIMILARITY = VIEWS = ("Encoding", "Sinusoids", "Similarity")
TEXTS = {
    ENCODING: "A row for each position, a column for each dimension.",
    SINUSOIDS: "Single dimensions over the positions, each a wave of its own.",
    SIMILARITY: "How alike the encodings of two positions are, for any two.",
}
HOW_TO_READ = {
    ENCODING: """
        The row of a position is added to the embedding of whatever token stands there (section 3.5). Dimensions come in pairs, a
        sine and a cosine of one wavelength: 2 pi positions at the left, almost 10000 times as many at the right. At the left colours
        change from row to row, at the right they hardly change at all, like the hands of one clock.""",
    SINUSOIDS: """
        The dots are what the model gets: positions are whole numbers. The curve between them is for the eye alone. Dimension 2i is a
        sine, 2i + 1 the cosine of the same wavelength.""",
    SIMILARITY: """
        Along a diagonal nothing changes: the similarity depends on how far apart two positions are, not on where they are. A dot
        product is at most d_model / 2, that of a position with itself; a cosine is at most 1. It says how alike the encodings are,
        not that a head uses it.""",
}


@st.fragment
def encodings() -> None:
    """The page below the sentence; a click in here runs nothing else again."""
    model = state.model()
    config = model.translator.model.config
    d_model = config.d_model - config.d_model % 2
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        view: str = st.segmented_control(
            "View", VIEWS, default=ENCODING, required=True, key="positions_view", bind="query-params", label_visibility="collapsed"
        )
        num_positions = st.slider("Positions", 8, 256, 64, 8, key="num_positions", bind="query-params", width=240)
        dimensions, measure = settings(view, d_model)
    st.markdown(f"**{view}**: {TEXTS[view][0].lower()}{TEXTS[view][1:]}", help=" ".join(HOW_TO_READ[view].split()))
    theme = theme_named(st.context.theme.type)
    if view == ENCODING:
        figure, table = positions.encoding_heatmap(num_positions, d_model, theme), tables.encoding_table(num_positions, d_model)
    elif view == SINUSOIDS:
        figure = positions.sinusoids(dimensions, num_positions, d_model, theme)
        table = tables.sinusoids_table(dimensions, num_positions, d_model)
    else:
        figure = positions.position_similarity(num_positions, d_model, theme, measure)
        table = tables.similarity_table(num_positions, d_model, measure)
    st.plotly_chart(figure, theme=None, config=CHART_CONFIG, key=f"positions_{view}", alt=TEXTS[view])
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("Export", width="content")
        st.download_button("CSV", lambda: table.to_csv(index=False).encode(), f"{view.lower()}.csv", "text/csv", on_click="ignore", type="tertiary")
        learned = " This model has learned its positions instead: what it adds is not what is drawn here." * (config.positions == "learned")
        st.caption(f"These are the paper's sinusoids at d_model {d_model}, the width of {plain(model.name)}.{learned}")


def settings(view: str, d_model: int) -> tuple[list[int], Measure]:
    """Which waves to draw, and how to compare positions; asked for only where it matters."""
    dimensions: list[int] = [0]
    measure: Measure = "dot"
    if view == SINUSOIDS:
        first = [dimension for dimension in (0, 16, 32, 64) if dimension < d_model]
        dimensions = st.multiselect("Dimensions", range(d_model), first, key="dimensions", max_selections=8, select_all=False)
    if view == SIMILARITY:
        names: dict[Measure, str] = {"dot": "Dot product", "cosine": "Cosine"}
        measure = st.segmented_control(
            "Measure", tuple(names), default="dot", required=True, format_func=names.__getitem__, key="measure", bind="query-params"
        )
    return dimensions, measure


encodings()
