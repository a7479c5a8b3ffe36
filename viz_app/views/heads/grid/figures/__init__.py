"""Drawings of the view Heads, without Streamlit."""
