"""Table 2 of the paper, scores and costs of training, with the shipped models below."""

import pandas as pd
import streamlit as st

from core.analysis.recorded_call import Call
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import decimals, show_table
from viz_app.language import marked, tr
from viz_app.views.paper.table2.training_costs import training_costs

ABOUT = marked("""
BLEU on newstest2014 is of tokenized text with compounds split, as in the paper; the last column has the signature of a
score that was measured here. The paper **estimates** the floating-point operations of a training: the time, times the
devices, times what one sustains, 9.5e12 a second for a P100. **Counted** are those of all matrix products, with full
batches: at most. How many the processors of the shipped models sustain was not measured, so their estimate is left out;
the counted ones by the time of a device are in its place.
""")


@st.cache_data(show_spinner=False)
def table() -> pd.DataFrame:
    """Make the table; all visitors share it."""
    return training_costs()


def page() -> None:
    """Draw the table."""
    found = table()
    st.markdown(
        tr("**Table 2**: scores and cost of training, of the paper\u2019s models and of those that are shipped."),
        help=tr(ABOUT),
    )
    number, flops = st.column_config.NumberColumn, {"format": "scientific"}
    show_table(
        found,
        height=40 + 35 * len(found),
        column_config={
            "model": tr("Model"),
            "bleu_de": number(tr("BLEU, German"), **decimals(2)),
            "bleu_fr": number(tr("BLEU, French"), **decimals(2)),
            "pairs": number(tr("Sentence pairs"), **decimals(0)),
            "hours": number(tr("Hours"), **decimals(1)),
            "devices": tr("Devices"),
            "flops_de": number(tr("Estimated, German"), **flops),
            "flops_fr": number(tr("Estimated, French"), **flops),
            "counted_flops": number(tr("Counted"), **flops),
            "flops_per_second": number(tr("Counted, a second and device"), **flops),
            "signature": tr("Signature"),
        },
    )
    downloads("table-2", of_sentence=False, call=lambda: Call("table", training_costs).returning(found))


page()
