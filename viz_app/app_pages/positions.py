import streamlit as st

st.write("positions")
