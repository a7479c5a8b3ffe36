"""Badges for checks that a page has just made."""

from collections.abc import Sequence

import streamlit as st

from viz_app.drawing.display_text import plain
from viz_app.language import tr


def check_badge(name: str, passed: bool, about: str, found: str) -> None:
    """Draw a badge with an explanation on hover; of a failed check also an error.

    Name and description, as Markdown, are English; the measured values are plain text.
    """
    check_badges([(name, passed, about, found)], f"check_{name}")


def check_badges(checks: Sequence[tuple[str, bool, str, str]], key: str) -> None:
    """Draw badges of several checks, each with the arguments of `check_badge`."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key=key):
        st.caption(tr("Checked now"), width="content")
        for name, passed, about, found in checks:
            detail = f"{tr(about)}\n\n{tr('Found: {found}.', found=plain(found))}"
            if passed:
                st.badge(tr(name), icon=":material/check:", color="gray", help=detail)
            else:
                st.badge(tr("{check}: failed", check=tr(name)), icon=":material/close:", color="red", help=detail)
    for name, passed, about, found in checks:
        if not passed:
            st.error(
                tr(
                    "**Failed: {check}.** {about} Found: {found}. Do not trust the pictures on this page.",
                    check=tr(name),
                    about=tr(about),
                    found=plain(found),
                )
            )
