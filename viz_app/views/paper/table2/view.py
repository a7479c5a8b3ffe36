"""Table 2 of the paper, scores and costs of training, with the shipped models below."""

import streamlit as st

from core.analysis.declaration import Columns
from core.analysis.recorded_call import Call
from core.analysis.table_2 import training_costs
from viz_app.controls.downloads import downloads
from viz_app.controls.tables import number_column, show_table
from viz_app.language import marked, tr

ABOUT = marked("""
BLEU on newstest2014 is of tokenized text with compounds split, as in the paper; the signatures of the scores that were
measured here are below the table. The paper estimates the floating-point operations of a training, here in **EFLOPs**,
10¹⁸: the time, times the devices, times what one sustains, 9.5 · 10¹² a second for a P100. **Counted** are those of all
matrix products, with full batches: at most. **TFLOPs/s** are the counted ones of one device in a second, in 10¹². How
many the processors of the shipped models sustain was not measured, so they have no estimate.
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
        "bleu_de": number_column(tr("BLEU de"), 2),
        "bleu_fr": number_column(tr("BLEU fr"), 2),
        "exaflops_de": number_column(tr("EFLOPs de"), 2),
        "exaflops_fr": number_column(tr("EFLOPs fr"), 2),
        "counted_exaflops": number_column(tr("Counted EFLOPs"), 3),
        "teraflops_per_second": number_column(tr("TFLOPs/s"), 2),
        "pairs": number_column(tr("Pairs"), 0, width=80),
        "hours": number_column(tr("Hours"), 1),
        "devices": st.column_config.TextColumn(tr("Devices"), width=150),
    }
    show_table(found, height="content", columns=columns)
    signatures = zip(found["model"], found["signature"], strict=True)
    st.caption("  \n".join(f"{tr('Signature')}, {model}: `{text}`" for model, text in signatures if text))
    downloads("table-2", call=lambda: Call("table", training_costs).returning(found))


page()
