"""The picture of the page Read a picture: a text to draw, or an uploaded file."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from core.images.rendering import CHARACTERS, FONTS, HELD_OUT_FONTS, MAX_TEXT, Style, render
from viz_app.controls.uploader_texts import uploader_texts
from viz_app.controls.widgets import setting_segments
from viz_app.language import marked, tr
from viz_app.session import address

if TYPE_CHECKING:
    from core.images.line_reader import LineReader
    from core.images.patches import Pixels

EXAMPLE = "Read me!"
DRAWN, UPLOADED = marked("Draw a text"), marked("Upload a picture")
MAX_MEGABYTES = 4
ABOUT_FILE = marked("""
A PNG picture of one line of printed text, cut to the line: capital letters about half as high as the picture. It may be
dark on light or light on dark. It stays on this machine, and is not part of the link.
""")


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
    names = {each: tr(each) for each in (DRAWN, UPLOADED)}
    source = setting_segments(address.PICTURE_SOURCE, tr("Picture"), names, hide_label=True)
    return _drawn(reader) if source == DRAWN else _uploaded(reader)


def _drawn(reader: "LineReader") -> Picture | None:
    from core.images.picture import line_image

    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="picture_options"):
        text = address.PICTURE_TEXT.draw(
            st.text_input,
            tr("Text"),
            max_chars=MAX_TEXT,
            help=tr(
                "Letters, digits and signs that the model knows: {characters}. Lines of more than about 20 characters "
                "are longer than those it was trained on.",
                characters=CHARACTERS.strip(),
            ),
        )
        font = address.PICTURE_FONT.draw(st.selectbox, tr("Font"), FONTS, format_func=_font_name, width=230)
        size = address.PICTURE_SIZE.draw(st.slider, tr("Size"), 12, 19, width=120, help=tr("Pixels per em"))
        noise = address.PICTURE_NOISE.draw(st.slider, tr("Noise"), 0, 30, width=120, help=tr("Per cent"))
    if not text.strip():
        return None
    style = Style(font=font, size=size, noise=noise / 100)
    image = line_image(render(text, style), reader.height)
    python = f"""
from core.images.picture import line_image
from core.images.rendering import Style, render
style = Style(font={font!r}, size={size}, noise={noise / 100})
image = line_image(render({text!r}, style), reader.height)""".strip()
    return Picture(image, tr("\u201c{drawn}\u201d in {font}", drawn=text, font=font), text, python)


def _uploaded(reader: "LineReader") -> Picture | None:
    from core.images.picture import decode_png, line_image

    uploader_texts("picture_file", MAX_MEGABYTES)
    file = st.file_uploader(
        tr("PNG picture of one line of text"), key="picture_file", help=tr(ABOUT_FILE), max_upload_size=MAX_MEGABYTES
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
    return tr("{font} (not trained on)", font=font) if font in HELD_OUT_FONTS else font
