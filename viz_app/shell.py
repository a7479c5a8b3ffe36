"""The frame of every page: navigation, checkpoint, and sentence."""

from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import StreamlitPage

from viz_app.drawing.display_text import sentence_case, shortened
from viz_app.frame import badges, examples, named_model, page_menu, sentence_input, settings_menu, sidebar
from viz_app.frame.question_line import question_line
from viz_app.frame.source_note import source_note
from viz_app.language import tr
from viz_app.page_list import VIEWS, View
from viz_app.session import analysis_fields, fields, permalink, readings, shown_slide, source_doubts
from viz_app.session.address import HYPOTHESIS, WORD
from viz_app.session.models import Model
from viz_app.session.open_models import OpenModels
from viz_app.session.readings import Current, Reading
from viz_app.session.state import follow, page_part, session_object
from viz_app.session.turns import own_turn

FRAME = Path(__file__).parent / "frame"
STYLES = FRAME.parents[1] / "core/drawing/sizes.css", FRAME / "style.css"


def draw_view(view: View, script: StreamlitPage, model: Model, reading: Reading | None, note: DeltaGenerator) -> None:
    """Run the script of a view, and say in the place of the note if the model may not know the source."""
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
        found = source_doubts.doubts(reading)
        if any(found):
            source_note(reading, found, note)
    if reading is not None and view.has_badges:
        badges.badges(reading)


st.set_page_config(page_title="Headlight", page_icon=str(FRAME / "icon.svg"), layout="wide", initial_sidebar_state=256)
if parameters := fields.begin():
    analysis_fields.declare_named(parameters)
sidebar.restore_language()
scripts, script, view = page_menu.current_view()
follow()
fields.on_page(view.name)
st.html(f"<style>{''.join(path.read_text(encoding='utf-8') for path in STYLES)}</style>")

with st.sidebar:
    top = st.container(key="current-model")
    page_menu.menu(scripts)
    beside = st.container(key="model-sketch")
page_menu.view_row(scripts, view)

# Draw the parts without a model first: just after the app has started, the model takes seconds to load.
bar = sentence_input.sentence_bar()
sentence_input.hide(not view.has_sentence, session_object(OpenModels).has_attention_only)
model = sidebar.checkpoint_box(top)
with top:
    sidebar.language_box()
from viz_app.components.frame_script import frame_script  # noqa: E402 -- imports core: the model is loaded by now

frame_script("" if view == VIEWS[0] else view.name, page_menu.link_names(view))
missing = session_object(OpenModels).missing
if model is not None and missing is not None:
    session_object(Current).model, session_object(Current).reading = model, None
    with bar.below:
        named_model.missing_note(missing, model)
elif model is not None:
    problem = ""
    try:
        if HYPOTHESIS.is_due():
            permalink.restore_target(model, bar.search)
    except ValueError as error:
        problem = str(error)
    has_model = model.explanation is None
    with own_turn():
        reading = readings.given_reading(model) or sentence_input.read(model, bar.search, bar.below, problem)
    current = session_object(Current)
    current.model, current.reading = model, reading
    with bar.below:
        note = st.empty()
        line = st.container(horizontal=True, gap="medium", vertical_alignment="center", key="below-words")
        if reading is not None:
            try:
                if WORD.is_due():
                    permalink.restore_words(reading)
            except ValueError as error:
                st.error(sentence_case(str(error)))
            sentence_input.show_words(reading, bar)
            with line:
                question_line(reading, view, model.kind)
                if has_model and bar.search.is_changed:
                    settings_menu.changed_note(bar.search)
        is_example = has_model and view == VIEWS[0] and examples.are_shown(bar.search.text)
        if reading is None or is_example:
            with line:
                examples.draw(model, "" if reading is None else bar.search.text)
    if model.kind in view.models:
        with page_part(), own_turn():
            draw_view(view, script, model, reading, note)
    else:
        named_model.wrong_task_note(model, view)
    with beside:
        from viz_app.frame.place_in_model import sketch  # imports core

        sketch(view, model)
fields.end()
