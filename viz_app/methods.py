"""The ways of seeing who attends to whom: what they are called, and their maps of what is being read."""

import streamlit as st

from core.analysis.heads import Maps
from core.analysis.methods import METHODS, Method
from viz_app.state import Memory, Reading

METHOD_NAMES: dict[Method, str] = {
    "attention": "Attention weights",
    "norms": "Norm-weighted",
    "gradient": "Gradient \u00d7 attention",
    "rollout": "Attention rollout",
    "contributions": "ALTI, within a layer",
    "rolled_contributions": "ALTI, rolled out",
}
METHOD_HELP = """
**Attention weights**: as they are. **Norm-weighted**: times the length of what is moved, ||a f(x)|| (Kobayashi et al. 2020).
**Gradient \u00d7 attention**: times how much the prediction would change. **Attention rollout**: followed down through the layers to the words
that went in (Abnar & Zuidema 2020). **ALTI**: how near each part alone comes to the whole output of a layer (Ferrando et al. 2022), within
the layer or rolled out. The last three have one map a layer, not one a head.
"""


@st.cache_resource(show_spinner=False)
def _remembered() -> "Memory[Maps]":
    """Of all sessions, by what was read and how; few, as one of 512 tokens takes 150 MB."""
    return Memory(12)


def method_maps(reading: Reading, method: Method) -> Maps:
    """The maps of one method; computed when first asked for."""
    if method == "attention":
        return reading.explanation.maps
    source, target = reading.translation.source, reading.hypothesis.token_ids
    return _remembered().get((reading.identity, method), lambda: METHODS[method](reading.model.translator, source, target))
