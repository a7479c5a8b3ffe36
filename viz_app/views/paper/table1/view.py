"""Table 1 of the paper, why self-attention, and measured costs of types of layers."""

from dataclasses import replace

import streamlit as st

from core.analysis.declaration import Columns
from core.analysis.layers import path_length
from core.analysis.layers.layer_cost import CostTable, Quantity, shipped_costs
from core.analysis.layers.layer_curves import Along
from core.analysis.layers.layer_types import Sizes, compared_multiplications
from core.analysis.layers.path_length import Counted
from core.analysis.recorded_call import Call
from viz_app.components.picture import picture
from viz_app.controls.downloads import downloads
from viz_app.controls.job_control import job_control
from viz_app.controls.tables import show_table
from viz_app.controls.widgets import segments, setting_segments
from viz_app.drawing.display_text import sentence_case
from viz_app.language import marked, tr, tr_values, translated
from viz_app.session import address
from viz_app.session.fields import page_address
from viz_app.views.paper.table1 import layer_costs
from viz_app.views.paper.table1.layer_costs import DS, KS, NS, RS, table_1

HEIGHT = 430  # pixels of a table
TIME, OPERATIONS, MEMORY, SEQUENTIAL, PATH = address.WHY_VIEW.codec.values
QUANTITIES: dict[str, Quantity] = {TIME: "milliseconds", OPERATIONS: "operations", MEMORY: "megabytes"}
ALONG: dict[Along, str] = {"n": marked("over n"), "d": marked("over d")}
COUNTED: dict[str, Counted] = {SEQUENTIAL: "sequential", PATH: "path"}
TEXTS = {
    TIME: marked("one pass of one layer over one sequence, measured; dashed: the O() prediction."),
    OPERATIONS: marked("multiplications in one layer, by formula."),
    MEMORY: marked("peak memory during a pass, measured."),
    SEQUENTIAL: marked(
        "products in one layer that must be computed one after the other, counted; dashed: the O() prediction."
    ),
    PATH: marked(
        "products on the path of a signal between the two positions farthest apart, counted; dashed: the O() "
        "prediction."
    ),
}
HOW_TO_READ = {
    TIME: marked("""
        Both scales are logarithmic: a power of n is a straight line, a higher power a steeper one. Dashed
        lines are scaled to meet the last measurement, since O() leaves out constant factors. Where the measured curve
        is flatter, at the left, most of the time is not spent on products. A recurrent layer multiplies vectors one
        after the other, attention whole matrices, so a multiplication takes longer in a recurrent layer."""),
    OPERATIONS: marked("""
        A multiplication and its addition count as one. Self-attention and the recurrent layer are equal at
        n = d. As in the paper's table, projections are not counted: those of multi-head attention would add 4 n d^2 to
        both types of attention."""),
    MEMORY: marked("""
        Input and parameters are not counted. Self-attention stores its n x n weights here; fused kernels do
        not, and the app's model uses one while no attention is recorded. Restricted attention works in blocks of r
        queries that share 2r - 1 keys."""),
    SEQUENTIAL: marked("""
        Counted in the computation graph of layers of up to 32 positions. O(1) can be 2: attention
        multiplies with the keys, then with the values. What matters is whether the number grows."""),
    PATH: marked("""
        Layers are stacked until every position depends on every other, as gradients show; then the products on
        the shortest path between the two farthest positions are counted. A separable convolution has two in each
        layer."""),
}
ABOUT = marked("""
        Section 4 compares layers by their cost, by how much of it can run in parallel, and by the length of the path
between two positions. n is the number of positions, d the width of their vectors, k the width of the kernel, r the size
of the neighbourhood. The separable convolution is from the section's text, not from its table.""")


def page() -> None:
    """Draw the table, and one picture below it."""
    st.markdown(
        tr("**Table 1**: the cost of one layer, and the length of paths. Bold: the fewest multiplications."),
        help=" ".join(tr(ABOUT).split()),
    )
    at = sizes()
    measured = measurements(at)
    st.html(table_1(measured, at))
    link = page_address("heads", {"checkpoint": "reverse-r4", "text": "h e a d", "kind": "encoder_self"})
    model = tr("Restricted to 4 positions: the model [reverse-r4]({address}).", address=link)
    st.markdown(f"{translated(compared_multiplications(at))} {model}")
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        view = setting_segments(address.WHY_VIEW, tr("Picture"), hide_label=True)
        along = setting_segments(
            address.ALONG, tr("Horizontal axis"), tr_values(ALONG), hide_label=True, disabled=view in COUNTED
        )
        as_table = address.WHY_TABLE.draw(st.toggle, tr("Table"))
    about = tr("**{name}**: {text}", name=tr(view), text=tr(TEXTS[view]))
    st.markdown(about, help=" ".join(tr(HOW_TO_READ[view]).split()))
    shipped = shipped_costs()
    if view in COUNTED:
        with st.spinner(tr("Counting"), show_time=False):
            counts = Call("counts", path_length.path_lengths, (at.k, at.r, at.dilated))
            drawn, table = counts.run().curves(COUNTED[view]), counts.then("table")
    else:
        drawn = measured.curves(QUANTITIES[view], at, along)
        table = Call("costs", shipped_costs).returning(measured).then("points", at, along)
    columns: Columns = table.run()
    if as_table:
        show_table({**columns, "layer": [tr(str(layer)) for layer in columns["layer"]]}, height=HEIGHT)
    else:
        picture(drawn, f"why_{view}")
    captions(view, columns, measured, at, along)
    is_shipped = view in COUNTED or measured is shipped
    downloads(
        f"layers-{view.lower().replace(' ', '-')}",
        None if as_table else f"why_{view}",
        (lambda: table) if is_shipped else None,
        title=tr("Layers of Table 1: {text}", text=tr(TEXTS[view]).rstrip(".\u3002")),
        table=None if is_shipped else lambda: columns,
        of_sentence=False,
    )


def sizes() -> Sizes:
    """Select the sizes of the layers."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="why-sizes"):
        n = address.WHY_N.draw(st.select_slider, tr("n, positions"), NS, width=210)
        d = address.WHY_D.draw(st.select_slider, tr("d, width"), DS, width=190)
        k = address.WHY_K.draw(st.select_slider, tr("k, kernel"), KS, width=110)
        r = address.WHY_R.draw(st.select_slider, tr("r, neighbourhood"), RS, width=130)
        dilated = address.WHY_DILATED.draw(
            st.toggle, tr("Dilated"), help=tr("Whether stacked convolutions are dilated.")
        )
    return Sizes(n=n, d=d, k=k, r=r, dilated=dilated)


def measurements(at: Sizes) -> CostTable:
    """Return the shipped measurements, or those made on this machine by a button."""
    # dilation concerns stacks, and single layers are measured
    here, at = layer_costs.measurement(), replace(at, dilated=True)
    shown, requested = here, None if here else requested_sizes()
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        if here is not None:
            names = {"here": tr("This machine"), "shipped": tr("Shipped")}
            shown = here if segments(tr("Measured on"), names, "here", "why_source") == "here" else None
        if requested is None:
            layer_costs.write_address(shown)
        else:
            st.button(tr("Measure the same here"), on_click=layer_costs.begin, args=(requested,), key="measure_same")
        if requested != at and (here is None or here.job.finished or here.at != at):
            st.button(tr("Measure on this machine"), on_click=layer_costs.begin, args=(at,), key="measure_layers")
        if here is not None:
            job_control(here.job, "stop_layers")
        table = shown.table() if shown else shipped_costs()
        st.caption(tr("Measured on {machine}.", machine=layer_costs.machine_text(table.hardware)))
    if requested is not None:
        sizes = f"n = {requested.n}, d = {requested.d}, k = {requested.k}, r = {requested.r}"
        st.caption(
            tr(
                "The link is to a measurement at {sizes}, but does not include its results: until it is repeated, the "
                "shipped ones are shown.",
                sizes=sizes,
            )
        )
    return table


def requested_sizes() -> Sizes | None:
    """Return the sizes of the address's measurement; None, with the reason on the page, if they are invalid."""
    try:
        return layer_costs.read_address()
    except ValueError as error:
        st.error(sentence_case(str(error)))
        return None


def captions(view: str, table: Columns, measured: CostTable, at: Sizes, along: Along) -> None:
    """Draw notes about the picture."""
    crossing = measured.meeting(at, along) if view == TIME else None
    if crossing is not None:
        meet = at.d if along == "n" else at.n
        text = tr(
            "Self-attention and the recurrent layer need the same number of multiplications at {size} = {meet}; they "
            "took the same time at about {size} = {crossing:,.0f}.",
            size=along,
            meet=meet,
            crossing=crossing,
        )
        st.caption(text)
    if view in QUANTITIES and not table["layer"]:
        st.caption(tr("There are no measurements at these sizes. Measure on this machine, or select the shipped ones."))
    if view == PATH and None in table["path"]:
        st.caption(tr("Some stacks never connect all positions, however deep: they have no path length."))


page()
