"""Drawings and the tables behind them: attention in, figure out, no Streamlit."""
