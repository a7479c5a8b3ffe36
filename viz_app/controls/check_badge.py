"""A badge for a check that a page has just made."""

import streamlit as st

from viz_app.figures.display_text import plain


def check_badge(name: str, passed: bool, about: str, found: str) -> None:
    """Draw a badge with an explanation on hover; of a failed check also an error.

    Args:
        name: of the check.
        about: what is checked, as Markdown.
        found: the measured values, as plain text.
    """
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key=f"check_{name}"):
        st.caption("Checked now", width="content")
        detail = f"{about}\n\nFound: {plain(found)}."
        if passed:
            st.badge(name, icon=":material/check:", color="gray", help=detail)
        else:
            st.badge(f"{name}: failed", icon=":material/close:", color="red", help=detail)
    if not passed:
        st.error(f"**Failed: {name}.** {about} Found: {plain(found)}. Do not trust the pictures on this page.")
