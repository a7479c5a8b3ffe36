"""Translate: what the search found, and how sure the model was."""

import streamlit as st

from viz_app import state, widgets
from viz_app.text import plain

st.container(horizontal=True)
with st.container(horizontal=True, key="examples"):
    for example in widgets.EXAMPLES:
        st.button(example, type="tertiary", on_click=state.new_sentence, args=(example,), key=f"example: {example}")

reading = state.reading()
if reading is not None:
    st.markdown("### " + plain(reading.hypothesis.text))
