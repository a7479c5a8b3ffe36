"""Plotly charts in the one form that all pages use."""

import html
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from viz_app.drawing.plotly_chart import CHART_CONFIG, chart_text


def show_chart(figure: go.Figure, key: str, name: str, **options: Any) -> None:
    """Draw a chart, as `st.plotly_chart` does, and describe it for screen readers; its name is short and translated."""
    with st.container():
        st.plotly_chart(figure, theme=None, config=CHART_CONFIG, key=key, alt=name, **options)
        # Not a part of the name: a chart with another name is a new one, which would be drawn from scratch.
        st.html(f'<p class="spoken">{html.escape(chart_text(figure))}</p>')
