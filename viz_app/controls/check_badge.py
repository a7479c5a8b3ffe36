"""Badges for checks that a page has just made."""

import streamlit as st

from viz_app.drawing.display_text import plain
from viz_app.language import tr


def check_badge(name: str, passed: bool, about: str, found: str) -> None:
    """Draw a badge with an explanation on hover; of a failed check also an error.

    Name and description, as Markdown, are English; the measured values are plain text.
    """
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key=f"check_{name}"):
        st.caption(tr("Checked now"), width="content")
        badge(name, passed, about, found)
    if not passed:
        failure(name, about, found)


def badge(name: str, passed: bool, about: str, found: str) -> None:
    """Draw the badge alone; arguments as for `check_badge`."""
    detail = f"{tr(about)}\n\n{tr('Found: {found}.', found=plain(found))}"
    if passed:
        st.badge(tr(name), icon=":material/check:", color="gray", help=detail)
    else:
        st.badge(tr("{check}: failed", check=tr(name)), icon=":material/close:", color="red", help=detail)


def failure(name: str, about: str, found: str) -> None:
    """Draw the error of a failed check; arguments as for `check_badge`."""
    st.error(
        tr(
            "**Failed: {check}.** {about} Found: {found}. Do not trust the pictures on this page.",
            check=tr(name),
            about=tr(about),
            found=plain(found),
        )
    )
