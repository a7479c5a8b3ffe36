"""The shell around every page: the pages and the checkpoint in the sidebar, the sentence on top."""

from pathlib import Path

import streamlit as st

from viz_app import sidebar, state, widgets

HERE = Path(__file__).parent

st.set_page_config(page_title="Headlight", page_icon=str(HERE / "icon.svg"), layout="wide", initial_sidebar_state=256)
translate = st.Page("app_pages/translate.py", title="Translate", default=True)
heads = st.Page("app_pages/heads.py", title="Heads")
beam = st.Page("app_pages/beam.py", title="Beam")
switches = st.Page("app_pages/switches.py", title="Switches")
alignment = st.Page("app_pages/alignment.py", title="Alignment")
compare = st.Page("app_pages/compare.py", title="Compare")
positions = st.Page("app_pages/positions.py", title="Positions")
page = st.navigation([translate, heads, beam, switches, alignment, compare, positions])
st.html(HERE / "style.css")

# What needs no model is painted first: just after the app has started, the model takes seconds to load.
search, menu, below = widgets.sentence_box()
model = sidebar.checkpoint_box()
if model is not None:
    st.session_state[state.MODEL] = model
    reading = st.session_state[state.READING] = widgets.read(model, search, menu, below)
    with below:
        if reading is not None:
            widgets.show_words(reading)
        if reading is None or page == translate:
            widgets.examples()
    page.run()
