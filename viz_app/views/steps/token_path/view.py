"""Step by step: one token through the model, with this sentence's own numbers."""

import streamlit as st

from core.analysis.token_path.steps import TokenPath
from viz_app.controls.check_badge import check_badge
from viz_app.controls.downloads import downloads
from viz_app.drawing.display_text import isolated, plain
from viz_app.language import marked, tr
from viz_app.session.readings import Reading, reading_part
from viz_app.session.state import session_object
from viz_app.session.step_place import StepPlace
from viz_app.views.steps.figures.step_views import step_named
from viz_app.views.steps.step_walk import step_walk
from viz_app.views.steps.token_path import walked_token
from viz_app.views.steps.token_path.figures.step_list import step_list

HOW_TO_READ = marked("""
Each step has the paper's formula, and the numbers that this model computes for this sentence. Go on with the arrow keys
or the list; Home and End lead to the first and the last step.

A vector is a row of **cells**: blue below 0, orange above, on the scale beside its title; or **bars**, where single
products matter. Point at one to read its number; "Numbers" shows all as a table. In the decoder, a row is **fed** one
token and **predicts** the next.

The numbers say exactly what was computed, **not what it means**: a dimension has no meaning of its own, a large score
does not say that the word mattered, and one head is one of many. For what matters, see What heads write, Layer by
layer, and Cut on the page Heads.
""")
ABOUT_BADGE = marked(
    "Every number here is computed by the paper's formulas in float64. The model's own pass, in float32, must give "
    "the same to rounding, relative to the largest number of each vector."
)


@reading_part
def page(reading: Reading) -> None:
    """Draw everything below the sentence; a click in it runs only this part again."""
    place = session_object(StepPlace)
    place.restore()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        recorded = walked_token.path_call(reading, *walked_token.place_boxes(reading))
        path: TokenPath = recorded.known
    about = walked_token.about_text(path)
    st.markdown(tr("**Step by step**: {token}", token=plain(isolated(about))), help=tr(HOW_TO_READ))
    piece, target = reading.model.translator.tokenizer.target.piece, reading.hypothesis.token_ids
    views = step_list(path, piece, walked_token.search_tree(reading), target)
    view = step_named(views, place.step)
    place.write(view is views[0])
    step_walk(views, tr("Steps of one token"), about, place)
    check_badge(
        tr("numbers equal the model's"),
        True,  # others are refused
        tr(ABOUT_BADGE),
        tr("{count} vectors compared, largest difference {gap:.1g}", count=len(path.differences), gap=path.gap),
    )
    title = f"{view.title}, {about}"
    table = recorded.then("table", view.part, view.quantities)
    downloads(f"step-{view.name}", "step_walk", table, title=title)


page()
