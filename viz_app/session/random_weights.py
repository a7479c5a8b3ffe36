"""Random weights, against which the heads of a model are described."""

import streamlit as st

from core.analysis.corpus.head_description import random_twin
from core.translator import Translator
from viz_app.session.models import MODEL_HASH, Model


@st.cache_resource(max_entries=2, show_spinner=False, hash_funcs=MODEL_HASH)
def random_weights(model: Model) -> Translator | None:
    """Return the configuration of a model with random weights, see `random_twin`."""
    return random_twin(model.translator)
