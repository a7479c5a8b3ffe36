"""Table 3 of the paper, variations of the model, beside those that were trained here."""

import streamlit as st

from core.analysis.model_variations import BASE, TABLE_3, Line, seed_range, table_3, table_3_lines, trained_rows
from core.analysis.recorded_call import Call
from viz_app.controls.charts import show_chart
from viz_app.controls.downloads import downloads
from viz_app.controls.widgets import page_theme, setting_segments
from viz_app.language import marked, tr
from viz_app.session import address
from viz_app.views.paper.table3.figures import SCORE_NAMES, difference_dots, table_html

ABOUT = marked("""
An empty cell is as in base. PPL is perplexity per sub-word; the paper's scores are of newstest2013. **Parameters** here
are of the same shape in this implementation, with the paper's vocabulary of 37,000. **Trained here** is the same change
to a model a quarter or half as wide and half as deep, on 29,000 image captions; scores are means over seeds. Only
differences from base can be compared with the paper's. **Bold**: perplexity changes in the other direction than in the
paper.
""")


@st.cache_data(show_spinner=False)
def lines() -> list[Line]:
    """Make the table; all visitors share it."""
    return table_3_lines()


def page() -> None:
    """Draw the table, or the differences from base in one score."""
    found, theme = lines(), page_theme()
    st.markdown(summary(found), help=tr(ABOUT))
    view = setting_segments(address.TABLE_3_VIEW, tr("View"), hide_label=True)
    score = next((score for score, name in SCORE_NAMES.items() if name == view), None)
    title, chart = tr("Rows of Table 3"), f"differences_{score}"
    if score is None:
        st.html(table_html(found))
    else:
        show_chart(difference_dots(found, score, theme), chart, title)
    downloads("table-3", chart if score else None, lambda: Call("table", table_3), title=title, of_sentence=False)


def summary(found: list[Line]) -> str:
    """Say how many rows were trained, and how many change perplexity as in the paper."""
    trained = [line for line in found if line["experiment"] and line["row"] != BASE]
    return tr(
        "**Table 3**: {trained} of the paper's {all} variations were trained here, smaller. In {same} of them "
        "perplexity differs from base in the paper's direction, in {opposite} in the other (bold in the table); in "
        "the rest it differs, here or in the paper, by no more than two seeds of a row do, {margin:.2f}.",
        trained=len({line["row"] for line in trained}),
        all=len(TABLE_3) - 1,
        same=sum(line["as_in_paper"] is True for line in trained),
        opposite=sum(line["as_in_paper"] is False for line in trained),
        margin=seed_range(trained_rows()),
    )


page()
