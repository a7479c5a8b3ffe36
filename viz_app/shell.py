"""The frame of every page: tour, navigation, checkpoint, and sentence."""

from pathlib import Path

import streamlit as st

from viz_app.controls.search_progress import stop_button
from viz_app.figures.display_text import sentence_case, shortened
from viz_app.language import tr
from viz_app.layout import sentence_input, sidebar, target_language, wrong_task
from viz_app.layout.sentence_part import checks_part, sentence_part
from viz_app.layout.tour import restart_button, tour
from viz_app.pages import GROUPS, PAGES
from viz_app.session import language, readings, shown_slide
from viz_app.session.open_models import OpenModels
from viz_app.session.readings import Current
from viz_app.session.sentence_parts import Drawn
from viz_app.session.state import session_object

LAYOUT = Path(__file__).parent / "layout"

st.set_page_config(page_title="Headlight", page_icon=str(LAYOUT / "icon.svg"), layout="wide", initial_sidebar_state=256)
drawn = session_object(Drawn)
drawn.is_whole = False
language.restore()
pages = {
    each.name: st.Page(f"app_pages/{each.name}.py", title=tr(each.title), default=each == PAGES[0]) for each in PAGES
}
page = st.navigation({tr(name): [pages[each.name] for each in group] for name, group in GROUPS.items()}, expanded=True)
st.html(LAYOUT / "style.css")

# The sentence box must not move when the tour goes: the browser would put it in its new place before it removed the old
# one, and with that forget that the box writes to the address.
with st.container():
    tour(pages, page)

# Draw first what needs no model: just after the app has started, the model takes seconds to load.
target_language.complete_sentence()
search, menu, below = sentence_input.sentence_box()
shown = next(each for each in PAGES if pages[each.name] == page)
sentence_input.hide(not shown.has_sentence, session_object(OpenModels).has_attention_only)
model = sidebar.checkpoint_box()
restart_button()
with st.sidebar:
    language.switch()
if model is not None:
    has_model = model.explanation is None
    session_object(Current).model = model
    with below:
        with st.container(horizontal=True, key="search-progress", vertical_alignment="center"):
            progress = st.empty()
            stop_button()
        note = st.empty()
        sentence_part(shown, search, menu, progress)
    if shown.needs_model and not has_model:
        wrong_task.attention_note(model, shown.title)
    elif wrong_task.needs_text(shown) and model.line_reader is not None:
        wrong_task.picture_note(model, shown.title)
    elif wrong_task.predicts_next_tokens(shown) and model.mask_predicts:
        wrong_task.mask_predict_note(model, shown.title)
    elif shown.title in wrong_task.PAGES and model.parser is not None:
        wrong_task.note(model, shown.title)
    else:
        shown_slide.begin_page()
        unknown = st.empty()
        page.run()
        if (name := shown_slide.unknown()) and (readings.reading() is not None or not shown.has_sentence):
            problem = tr(
                "the address has {parameter}={value}, but this page has no such picture: the page is shown instead",
                parameter=shown_slide.SLIDE,
                value=shortened(name, 60),
            )
            unknown.error(sentence_case(problem))
        checks_part(shown, note)
drawn.is_whole = True
