"""The shell around every page: what it is called, the checkpoint and the pages in the sidebar, the sentence on top."""

from pathlib import Path

import streamlit as st

from viz_app import state, widgets

HERE = Path(__file__).parent

st.set_page_config(page_title="Headlight", page_icon=str(HERE / "icon.svg"), layout="wide")
page = st.navigation(
    [
        st.Page("app_pages/translate.py", title="Translate", default=True),
        st.Page("app_pages/heads.py", title="Heads"),
        st.Page("app_pages/positions.py", title="Positions"),
    ]
)
st.html(HERE / "style.css")

# What needs no model is painted first; the model takes seconds to load when the app has just started.
box = widgets.sentence_box()
model = widgets.checkpoint_box()
if model is None:
    st.stop()
st.session_state[state.READING] = widgets.read(model, box)
page.run()
