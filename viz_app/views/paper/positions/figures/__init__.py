"""Drawings of the view Positions, without Streamlit."""
