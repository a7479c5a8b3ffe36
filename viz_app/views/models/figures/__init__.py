"""Drawings that several views of the page Models share, without Streamlit."""
