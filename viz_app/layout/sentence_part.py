"""What depends on the sentence on every page: words above it, checks below."""

from typing import TYPE_CHECKING

import streamlit as st

from viz_app.controls.source_note import source_note
from viz_app.figures.display_text import sentence_case
from viz_app.layout import badges, sentence_input, share_menu
from viz_app.pages import PAGES, AppPage
from viz_app.session import permalink, readings
from viz_app.session.sentence_parts import CHECKS, SENTENCE
from viz_app.session.state import session_object

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator


@st.fragment(key=SENTENCE)
def sentence_part(shown: AppPage, search: readings.Search, menu: "DeltaGenerator", progress: "DeltaGenerator") -> None:
    """Translate the sentence and draw it with its translation, on a page.

    Args:
        search: of the sentence in the last run of the whole page, with its settings.
        menu, progress: the places of the choice of hypothesis and of the search's progress.
    """
    # Streamlit wants every run of the whole page to draw something in a place outside of a fragment.
    model, choice, waiting = readings.model(), menu.container(), progress.empty()
    search, problem = sentence_input.with_new_sentence(search), ""
    try:
        permalink.restore_target(model, search)
    except ValueError as error:
        problem = str(error)
    reading = readings.given_reading(model) or sentence_input.read(model, search, choice, waiting, problem)
    session_object(readings.Current).reading = reading
    if reading is not None:
        try:
            permalink.restore_words(reading)
        except ValueError as error:
            st.error(sentence_case(str(error)))
        permalink.write(reading)
        with st.container(horizontal=True, key="words-and-menu"):
            with st.container(width="stretch"):
                sentence_input.show_words(reading)
            share_menu.menu(reading)
    has_model = model.explanation is None
    if reading is None or (has_model and shown == PAGES[0] and search.text in sentence_input.EXAMPLES):
        sentence_input.examples()


@st.fragment(key=CHECKS)
def checks_part(shown: AppPage, note: "DeltaGenerator") -> None:
    """Draw the badges of a page that ends with them, and a note on the language.

    The note is there if the model does not know the language of the sentence. Call it last on a page: both may run the model.

    Args:
        note: the place of that note.
    """
    reading, place = readings.reading(), note.empty()
    if reading is None:
        return
    if reading.model.explanation is None and shown.has_sentence and not reading.model.mask_predicts:
        source_note(reading, place)
    if shown.title in badges.PAGES:
        badges.badges(reading)
