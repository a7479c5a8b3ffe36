"""The app: `streamlit run viz_app/main.py`. What it shows begins in shell.py; how it is served, in server/; its
pages are listed in pages.py.
"""

import streamlit as st

from viz_app.server import serving

app = st.App("shell.py", lifespan=serving.lifespan, middleware=serving.MIDDLEWARE)
