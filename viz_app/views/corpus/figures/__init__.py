"""Drawings of the page Corpus, without Streamlit."""
