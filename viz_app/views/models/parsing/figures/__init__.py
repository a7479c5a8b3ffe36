"""Drawings of the view Parsing, without Streamlit."""
