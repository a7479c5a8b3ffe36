"""Entry point of the app, `streamlit run viz_app/main.py`; Streamlit runs shell.py for every page and click."""

import streamlit as st

from viz_app.server import serving

serving.configure_streamlit()
app = st.App("shell.py", lifespan=serving.lifespan, routes=serving.routes(), middleware=serving.middleware())
