"""The picture of the page Read a picture: a text to draw, or an uploaded file."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from core.images.rendering import CHARACTERS, FONTS, HELD_OUT_FONTS, MAX_TEXT, Style, render
from viz_app.controls.widgets import segments

if TYPE_CHECKING:
    from core.images.line_reader import LineReader
    from core.images.patches import Pixels

TEXT = "Read me!"
MAX_MEGABYTES = 4
ABOUT_FILE = """
A PNG picture of one line of printed text, cut to the line: capital letters about half as high as the picture. It may be
dark on light or light on dark. It stays on this machine, and is not part of the link.
"""


@dataclass(frozen=True)
class Picture:
    """A picture to read.

    Attributes:
        image: ink, as `core.images.picture.line_image` makes it.
        title: of the picture.
        text: that it shows; None if that is not known.
        python: code that makes it as `image`, with a `reader`.
    """

    image: "Pixels"
    title: str
    text: str | None
    python: str


def picture_input(reader: "LineReader") -> Picture | None:
    """Draw the inputs and return the picture; None if there is none yet.

    Raises:
        ValueError: the text cannot be drawn, or the file cannot be read.
    """
    source = segments("Picture", ("Draw a text", "Upload a picture"), "Draw a text", "picture_source", hide_label=True)
    return _drawn(reader) if source == "Draw a text" else _uploaded(reader)


def _drawn(reader: "LineReader") -> Picture | None:
    from core.images.picture import line_image

    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="picture_options"):
        text = st.text_input(
            "Text",
            TEXT,
            max_chars=MAX_TEXT,
            key="picture_text",
            bind="query-params",
            help=f"Letters, digits and signs that the model knows: {CHARACTERS.strip()}. Lines of more than about 20 "
            f"characters are longer than those it was trained on.",
        )
        font = st.selectbox("Font", FONTS, format_func=_font_name, key="picture_font", bind="query-params", width=230)
        size = st.slider("Size", 12, 19, 16, key="picture_size", bind="query-params", width=120, help="Pixels per em")
        noise = st.slider("Noise", 0, 30, 0, key="picture_noise", bind="query-params", width=120, help="Per cent")
    if not text.strip():
        return None
    style = Style(font=font, size=size, noise=noise / 100)
    image = line_image(render(text, style), reader.height)
    python = f"""
from core.images.picture import line_image
from core.images.rendering import Style, render
style = Style(font={font!r}, size={size}, noise={noise / 100})
image = line_image(render({text!r}, style), reader.height)""".strip()
    return Picture(image, f"\u201c{text}\u201d in {font}", text, python)


def _uploaded(reader: "LineReader") -> Picture | None:
    from core.images.picture import decode_png, line_image

    file = st.file_uploader(
        "PNG picture of one line of text", key="picture_file", help=ABOUT_FILE, max_upload_size=MAX_MEGABYTES
    )
    if file is None:
        return None
    image = line_image(decode_png(file.getvalue()), reader.height)
    python = f"""
from pathlib import Path
from core.images.picture import decode_png, line_image
image = line_image(decode_png(Path({file.name!r}).read_bytes()), reader.height)  # the file that you uploaded""".strip()
    return Picture(image, file.name, None, python)


def _font_name(font: str) -> str:
    return f"{font} (not trained on)" if font in HELD_OUT_FONTS else font
