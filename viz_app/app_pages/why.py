"""Why self-attention: Table 1 of the paper, its formulas beside what five kinds of layers were measured to cost."""

from dataclasses import replace
from functools import partial

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core.analysis.layers.layer_cost import CostTable
from core.analysis.layers.layer_types import Sizes
from viz_app.controls.downloads import downloads
from viz_app.controls.job_control import job_control
from viz_app.controls.tables import show_table
from viz_app.features.layers import layer_costs
from viz_app.features.layers.layer_costs import DS, KS, NS, RS
from viz_app.figures import layer_types
from viz_app.figures.display_text import sentence_case
from viz_app.figures.export.plotly_chart import export_chart
from viz_app.figures.layer_types import Along, Counted, Quantity
from viz_app.figures.plotly_chart import CHART_CONFIG
from viz_app.figures.theme import Theme, theme_named

TIME, OPERATIONS, MEMORY, SEQUENTIAL, PATH = VIEWS = (
    "Time",
    "Multiplications",
    "Memory",
    "Sequential steps",
    "Path length",
)
QUANTITIES: dict[str, Quantity] = {TIME: "milliseconds", OPERATIONS: "operations", MEMORY: "megabytes"}
COUNTED: dict[str, Counted] = {SEQUENTIAL: "sequential", PATH: "path"}
TEXTS = {
    TIME: "one pass of one layer over one sequence, measured; dashed, what is within O().",
    OPERATIONS: "what one layer multiplies, by formula.",
    MEMORY: "the most that was allocated at once during a pass, measured.",
    SEQUENTIAL: "products of one layer that have to wait for each other, counted; dashed, what is within O().",
    PATH: "products that a signal passes between the two positions farthest apart, counted; dashed, what is within "
    "O().",
}
HOW_TO_READ = {
    TIME: """Both scales are logarithmic: a power of n is a straight line, a higher power a steeper one. Dashed
        lines are scaled to meet the last measurement, for O() says nothing of factors. Where the measured curve is
        flatter at the left, it is not the products that take the time. A recurrent layer multiplies vectors one
        after the other, attention whole matrices: a multiplication takes it longer.""",
    OPERATIONS: """A multiplication counts with its addition. Self-attention and the recurrent layer meet exactly
        where n is d. The layers are bare, as the table counts them: the projections of multi-head attention would
        add 4 n d^2 to both kinds of attention.""",
    MEMORY: """Input and parameters are not counted. Self-attention holds its n x n weights here; kernels that never
        do exist, and the app's model uses one when nobody looks. Restricted attention works in blocks of r queries
        that share 2r - 1 keys.""",
    SEQUENTIAL: """Counted in layers of up to 32 positions by walking the graph of their computation. O(1) may well
        be 2: attention multiplies with the keys, then with the values. What matters is whether it grows.""",
    PATH: """Layers are stacked until every position depends on every other, which gradients tell; then the shortest
        way between the two farthest positions is counted in products. A separable convolution has two in each
        layer.""",
}
ABOUT = """Section 4 compares layers by what they cost, how much of it can run at once, and how far apart two
positions are for a signal. n is the number of positions, d the width of their vectors, k that of a kernel, r the
size of the neighbourhood. The separable convolution is from the section's text, not from its table."""


def page() -> None:
    """The table, and one picture under it."""
    theme = theme_named(st.context.theme.type)
    st.markdown(
        "**Table 1**: what one layer costs, and how far signals travel. Bold: the fewest multiplications.",
        help=" ".join(ABOUT.split()),
    )
    at = sizes()
    measured = measurements(at)
    st.html(layer_types.table_1(measured.costs, at))
    st.markdown(layer_types.crossover(at))
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        view: str = st.segmented_control(
            "Picture",
            VIEWS,
            default=TIME,
            required=True,
            key="why_view",
            bind="query-params",
            label_visibility="collapsed",
        )
        along: Along = st.segmented_control(
            "Along",
            ("n", "d"),
            default="n",
            required=True,
            key="along",
            bind="query-params",
            format_func=lambda name: f"over {name}",
            label_visibility="collapsed",
            disabled=view in COUNTED,
        )
        as_table = st.toggle("Table", key="why_table", bind="query-params")
    st.markdown(f"**{view}**: {TEXTS[view]}", help=" ".join(HOW_TO_READ[view].split()))
    figure, table = picture(view, measured, at, along, theme)
    if as_table:
        show_table(table, height=layer_types.HEIGHT)
    else:
        st.plotly_chart(figure, theme=None, config=CHART_CONFIG, key=f"why_{view}", alt=TEXTS[view])
    captions(view, table, measured, at, along)
    downloads(f"layers-{view.lower().replace(' ', '-')}", partial(export_chart, figure, theme=theme), lambda: table)


def sizes() -> Sizes:
    """What is asked about."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="why-sizes"):
        n = st.select_slider("n, positions", NS, 64, key="why_n", bind="query-params", width=210)
        d = st.select_slider("d, width", DS, 512, key="why_d", bind="query-params", width=190)
        k = st.select_slider("k, kernel", KS, 3, key="why_k", bind="query-params", width=110)
        r = st.select_slider("r, neighbourhood", RS, 8, key="why_r", bind="query-params", width=130)
        dilated = st.toggle(
            "Dilated",
            True,
            key="why_dilated",
            bind="query-params",
            help="Whether stacked convolutions leave ever wider gaps.",
        )
    return Sizes(n=n, d=d, k=k, r=r, dilated=dilated)


def measurements(at: Sizes) -> CostTable:
    """Those that came with the app, or this machine's, which a button makes anew."""
    # stacks are dilated, and a layer is measured by itself
    here, at = layer_costs.measurement(), replace(at, dilated=True)
    shown, asked = here, None if here else asked_for()
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        if here is not None:
            names = {"here": "This machine", "shipped": "Shipped"}
            chosen = st.segmented_control(
                "Measured on",
                tuple(names),
                default="here",
                required=True,
                format_func=names.__getitem__,
                key="why_source",
            )
            shown = here if chosen == "here" else None
        if asked is None:
            layer_costs.name_in_address(shown)
        else:
            st.button("Measure the same here", on_click=layer_costs.begin, args=(asked,), key="measure_same")
        if asked != at and (here is None or here.job.finished or here.at != at):
            st.button("Measure on this machine", on_click=layer_costs.begin, args=(at,), key="measure_layers")
        if here is not None:
            job_control(here.job, "stop_layers")
        table = shown.table() if shown else layer_costs.shipped()
        st.caption(f"Measured on {table.hardware}.")
    if asked is not None:
        sizes = f"n = {asked.n}, d = {asked.d}, k = {asked.k}, r = {asked.r}"
        st.caption(
            f"The link shows what was measured at {sizes}, but holds no numbers: until they are measured again, the "
            f"shipped ones are shown."
        )
    return table


def asked_for() -> Sizes | None:
    """At what the view that the address brings back was measured; where it names nothing that can be measured, the
    page says so.
    """
    try:
        return layer_costs.named_in_address()
    except ValueError as error:
        st.error(sentence_case(str(error)))
        return None


def picture(view: str, measured: CostTable, at: Sizes, along: Along, theme: Theme) -> tuple[go.Figure, pd.DataFrame]:
    """The drawing of a view, and the numbers behind it."""
    if view in COUNTED:
        with st.spinner("Counting", show_time=False):
            traces = layer_costs.traced(at.k, at.r, at.dilated)
        return layer_types.growth_curves(traces, COUNTED[view], at, theme), layer_types.traces_table(traces, at)
    return layer_types.cost_curves(measured.costs, QUANTITIES[view], at, along, theme), layer_types.costs_table(
        measured.costs, at, along
    )


def captions(view: str, table: pd.DataFrame, measured: CostTable, at: Sizes, along: Along) -> None:
    """What a reader has to know of this picture."""
    crossing = layer_types.measured_crossover(measured.costs, at, along) if view == TIME else None
    if crossing is not None:
        meet = at.d if along == "n" else at.n
        products = f"In multiplications, self-attention and the recurrent layer meet at {along} = {meet}"
        st.caption(f"{products}; in time they met at about {along} = {crossing:,.0f}.")
    if view in QUANTITIES and table.empty:
        st.caption("Nothing was measured at these sizes. Measure on this machine, or look at what was shipped.")
    if view == PATH and any(path is pd.NA for path in table["path"]):
        st.caption("Some stacks never connect all positions, however deep: they have no path.")


page()
