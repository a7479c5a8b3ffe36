"""Drawings of the page Step by step, without Streamlit."""
