"""Plotly charts in the one form that all pages use."""

import html
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from viz_app.drawing.plotly_chart import CHART_CONFIG, chart_text


def show_chart(figure: go.Figure, key: str, name: str, **options: Any) -> None:
    """Draw a chart and describe it for screen readers.

    Args:
        name: short, in the visitor's language.
        options: as for `st.plotly_chart`.
    """
    with st.container():
        st.plotly_chart(figure, theme=None, config=CHART_CONFIG, key=key, alt=name, **options)
        # Not a part of the name: a chart with another name is a new one, which would be drawn from scratch.
        st.html(f'<p class="spoken">{html.escape(chart_text(figure))}</p>')
