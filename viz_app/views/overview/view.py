"""Overview: Figure 1 of the paper, drawn for the open model and the sentence."""

import streamlit as st

from viz_app.drawing.model_sketch import Place, model_sketch
from viz_app.language import marked, tr
from viz_app.session import readings

HOW_TO_READ = marked("""
**Figure 1** of [Attention Is All You Need](https://arxiv.org/abs/1706.03762), drawn for the open model and the sentence
above. Information flows upwards. Every part is a link to the page that explains it.
""")


def page() -> None:
    """Draw the model with the values of the current reading."""
    reading = readings.reading()
    if reading is None:
        st.caption(tr("Enter a sentence above to see it pass through the model."))
        return
    st.markdown(tr("**The model, and this sentence in it**"), help=tr(HOW_TO_READ))
    config = readings.model().translator.model.config
    st.html(model_sketch(config.num_encoder_layers, config.num_decoder_layers, Place()))


page()
