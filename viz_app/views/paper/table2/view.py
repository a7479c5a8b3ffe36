"""Table 2 of the paper, scores and costs of training, with the shipped models below."""

import streamlit as st

from core.analysis.declaration import Columns
from core.analysis.recorded_call import Call
from core.analysis.table_2 import training_costs
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import number_column, show_table
from viz_app.language import marked, tr

ABOUT = marked("""
BLEU on newstest2014 is of tokenized text with compounds split, as in the paper; the last column has the signature of a
score that was measured here. The paper **estimates** the floating-point operations of a training, here in 10¹⁸: the
time, times the devices, times what one sustains, 9.5 · 10¹² a second for a P100. **Counted** are those of all matrix
products, with full batches: at most. **By time** are the counted ones of one device in a second, in 10¹². How many the
processors of the shipped models sustain was not measured, so they have no estimate.
""")


@st.cache_data(show_spinner=False)
def table() -> Columns:
    """Make the table; all visitors share it."""
    return training_costs()


def page() -> None:
    """Draw the table."""
    found = table()
    st.markdown(
        tr("**Table 2**: scores and cost of training, of the paper\u2019s models and of those that are shipped."),
        help=tr(ABOUT),
    )
    columns = {
        "model": tr("Model"),
        "bleu_de": number_column(tr("BLEU, German"), 2),
        "bleu_fr": number_column(tr("BLEU, French"), 2),
        "exaflops_de": number_column(tr("Estimated, German"), 2),
        "exaflops_fr": number_column(tr("Estimated, French"), 2),
        "counted_exaflops": number_column(tr("Counted"), 3),
        "teraflops_per_second": number_column(tr("By time"), 2),
        "pairs": number_column(tr("Pairs"), 0, width=80),
        "hours": number_column(tr("Hours"), 1),
        "devices": tr("Devices"),
        "signature": tr("Signature"),
    }
    show_table(found, height="content", columns=columns)
    downloads("table-2", call=lambda: Call("table", training_costs).returning(found))


page()
