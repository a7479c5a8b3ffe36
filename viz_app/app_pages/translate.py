"""Translate: what the search found, and how sure the model was."""

import streamlit as st

from viz_app import state, widgets

st.container(horizontal=True)
with st.container(horizontal=True, key="examples"):
    for example in widgets.EXAMPLES:
        st.button(example, type="tertiary", on_click=widgets.new_sentence, args=(example,), key=f"example: {example}")

reading = state.reading()
if reading is not None:
    st.markdown("### " + widgets.plain(reading.hypothesis.text))
