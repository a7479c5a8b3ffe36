"""Interactive drawings beyond Plotly, as Streamlit components with JavaScript."""
