"""Texts of Streamlit's file uploader in the language of the visitor."""

import re

import streamlit as st

from viz_app.language import ENGLISH, language, tr

DROPZONE = "[data-testid='stFileUploaderDropzone']"
# `display: none` hides the English text from screen readers too, which read out the parent's text instead.
REPLACED = "{parent} > {child} {{ display: none; }}\n{parent}::after {{ font-size: 0.875rem; content: {text}; }}\n"


def uploader_texts(key: str, megabytes: int | None = None, several: bool = False) -> None:
    """Translate the texts of an uploader, before it is drawn.

    Streamlit has no option for them: a style sheet replaces them, and components/uploader_words.js those that it
    cannot replace. Where a version of Streamlit has other elements, they stay English.

    Args:
        key: of the uploader.
        megabytes: its limit; None: that of the app.
        several: whether it takes several files.
    """
    if language() == ENGLISH:
        return
    most = st.get_option("server.maxUploadSize") if megabytes is None else megabytes
    zone = f".st-key-{re.sub('[^a-zA-Z0-9_-]', '-', key)} {DROPZONE}"
    drop = tr("Drag and drop files here") if several else tr("Drag and drop a file here")
    texts = (
        (f"{zone} > span [data-testid='stMarkdownContainer']", "p", tr("Upload")),
        (
            f"{zone} [data-testid='stFileUploaderDropzoneInstructions'] > div",
            "span",
            tr("{most} MB per file", most=most),
        ),
        (f"{zone} > input + div:not(:has(button))", "span", drop),  # while files are dragged over it
    )
    rules = (REPLACED.format(parent=parent, child=child, text=css_string(text)) for parent, child, text in texts)
    st.html(f"<style>{''.join(rules)}</style>")


def css_string(text: str) -> str:
    """Return a text as a string of CSS within HTML, with all but letters, digits and spaces escaped."""
    return '"' + "".join(c if c.isalnum() or c == " " else f"\\{ord(c):x} " for c in text) + '"'
