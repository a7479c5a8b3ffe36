"""The shell around every page: the pages and the checkpoint in the sidebar, the sentence on top."""

from pathlib import Path

import streamlit as st

from viz_app.layout import badges, sentence_input, share_menu, sidebar
from viz_app.layout.tour import tour, way_back
from viz_app.pages import PAGES
from viz_app.session import readings

LAYOUT = Path(__file__).parent / "layout"

st.set_page_config(page_title="Headlight", page_icon=str(LAYOUT / "icon.svg"), layout="wide", initial_sidebar_state=256)
pages = [st.Page(f"app_pages/{name}.py", title=title, default=name == "translate") for name, title in PAGES]
page = st.navigation(pages)
st.html(LAYOUT / "style.css")

tour(dict(zip((name for name, _ in PAGES), pages, strict=True)), page)

# What needs no model is painted first: just after the app has started, the model takes seconds to load.
search, menu, below = sentence_input.sentence_box()
model = sidebar.checkpoint_box()
way_back()
if model is not None:
    st.session_state[readings.MODEL] = model
    reading = st.session_state[readings.READING] = sentence_input.read(model, search, menu, below)
    with below:
        if reading is not None:
            with st.container(horizontal=True, key="words-and-menu"):
                with st.container(width="stretch"):
                    sentence_input.show_words(reading)
                share_menu.menu(reading)
        if reading is None or page == pages[0]:
            sentence_input.examples()
    page.run()
    if reading is not None and page.title in badges.PAGES:
        badges.badges(reading)
