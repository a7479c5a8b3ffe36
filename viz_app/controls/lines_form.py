"""A form for a file of sentences: an upload, or pasted lines."""

from collections.abc import Callable

import streamlit as st

from viz_app.controls.uploader_texts import uploader_texts
from viz_app.language import marked, tr
from viz_app.session.uploaded_text import decoded

MAX_BYTES = 5 * 2**20
PASTED = marked("the text")


def lines_form(
    key: str,
    label: str,
    submit: str,
    *,
    about: str,
    example: str,
    note: str,
    too_large: str,
    not_text: str,
    above: Callable[[], None] | None = None,
) -> tuple[str, str] | None:
    """Draw the form, and return the name and the content of what was submitted, or None.

    Args:
        key: of its widgets, before `_file`, `_pasted` and `_submit`.
        label, submit, about, note: of the uploader, the button, the help and the text beside the button, in the
            visitor's language.
        too_large, not_text: messages of `decoded`, in English.
        above: draws more widgets of the form.

    Raises:
        ValueError: as `decoded`.
    """
    with st.form(f"{key}_form", border=False):
        if above:
            above()
        left, right = st.columns(2, gap="large")
        uploader_texts(f"{key}_file", MAX_BYTES // 2**20)
        file = left.file_uploader(label, key=f"{key}_file", help=about, max_upload_size=MAX_BYTES // 2**20)
        pasted = right.text_area(
            tr("Or paste lines"),
            key=f"{key}_pasted",
            placeholder=example,
            height=100,
            help=about,
            persist_state="session",
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            submitted = st.form_submit_button(submit, key=f"{key}_submit")
            st.caption(note, width="content")
    if not submitted:
        return None
    if file is None:
        return PASTED, pasted or ""
    return file.name, decoded(file.name, file.getvalue(), MAX_BYTES, too_large, not_text)
