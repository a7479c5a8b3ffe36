"""Drawings that answer back: what Plotly cannot do, as Streamlit components with inline JavaScript."""
