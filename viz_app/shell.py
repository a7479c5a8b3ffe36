"""The frame of every page: tour, navigation, checkpoint, and sentence."""

from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import StreamlitPage

from viz_app.controls.uploader_texts import uploaded_texts
from viz_app.drawing.display_text import sentence_case, shortened
from viz_app.frame import (
    badges,
    examples,
    named_model,
    page_menu,
    place_in_model,
    search_settings,
    sentence_input,
    sidebar,
    wrong_task,
)
from viz_app.frame.question_line import question_line
from viz_app.frame.source_note import source_note
from viz_app.frame.tour import lead, restart_button, tour
from viz_app.language import tr
from viz_app.page_list import VIEWS, View
from viz_app.session import analysis_fields, fields, language, next_page, permalink, readings, shown_slide
from viz_app.session.models import Model
from viz_app.session.open_models import OpenModels
from viz_app.session.readings import Current, Reading
from viz_app.session.state import no_room_shown, session_object

FRAME = Path(__file__).parent / "frame"
STYLES = FRAME.parents[1] / "core/drawing/sizes.css", FRAME / "style.css"


def draw_view(view: View, script: StreamlitPage, model: Model, reading: Reading | None, note: DeltaGenerator) -> None:
    """Run the script of a view, with what the frame says about it.

    Args:
        script: as `st.navigation` returned it.
        note: where to say that the model may not know the source.
    """
    shown_slide.begin_page(view.name)
    unknown = st.empty()
    script.run()
    if (name := shown_slide.unknown()) and (reading is not None or not view.has_sentence):
        problem = tr(
            "the address has {parameter}={value}, but this page has no such picture: the page is shown instead",
            parameter=shown_slide.SLIDE.key,
            value=shortened(name, 60),
        )
        unknown.error(sentence_case(problem))
    if reading is not None and view.has_sentence and model.explanation is None:
        source_note(reading, note)
    if reading is not None and view.has_badges:
        badges.badges(reading)


st.set_page_config(page_title="Headlight", page_icon=str(FRAME / "icon.svg"), layout="wide", initial_sidebar_state=256)
analysis_fields.declare_named(fields.begin())
language.restore()
scripts, script, view = page_menu.current_view()
next_page.follow()
fields.on_page(view.name)
st.html(f"<style>{''.join(path.read_text(encoding='utf-8') for path in STYLES)}</style>")

with st.sidebar:
    top = st.container(key="current-model")
    page_menu.menu(scripts)
    beside = st.container(key="model-sketch")
page_menu.view_row(scripts, view)

# The sentence box must not move when the tour goes: the browser would put it in its new place before it removed the old
# one, and with that forget that the box writes to the address.
with st.container():
    tour(scripts, script)

# Draw the parts without a model first: just after the app has started, the model takes seconds to load.
bar = sentence_input.sentence_bar()
sentence_input.hide(not view.has_sentence, session_object(OpenModels).has_attention_only)
model = sidebar.checkpoint_box(top)
with top:
    language.switch()
restart_button()
uploaded_texts()
page_menu.name_links(view)
lead(scripts, script)
missing = session_object(OpenModels).missing
if model is not None and missing is not None:
    session_object(Current).model, session_object(Current).reading = model, None
    with bar.below:
        named_model.missing_note(missing, model)
elif model is not None:
    problem = ""
    try:
        permalink.restore_target(model, bar.search)
    except ValueError as error:
        problem = str(error)
    has_model = model.explanation is None
    reading = readings.given_reading(model) or sentence_input.read(model, bar.search, bar.below, problem)
    current = session_object(Current)
    current.model, current.reading = model, reading
    with bar.below:
        note = st.empty()
        line = st.container(horizontal=True, gap="medium", vertical_alignment="center", key="below-words")
        if reading is not None:
            try:
                permalink.restore_words(reading)
            except ValueError as error:
                st.error(sentence_case(str(error)))
            permalink.write(reading)
            sentence_input.show_words(reading, bar)
            with line:
                question_line(reading, view, model.kind)
                if has_model and bar.search.is_changed:
                    search_settings.changed_note(bar.search)
        is_example = has_model and view == VIEWS[0] and examples.are_shown(bar.search.text)
        if reading is None or is_example:
            with line:
                examples.draw(model, "" if reading is None else bar.search.text)
    if model.kind in view.models:
        with no_room_shown():
            draw_view(view, script, model, reading, note)
    else:
        wrong_task.note(model, view)
    with beside:
        place_in_model.sketch(view, model)
fields.end()
