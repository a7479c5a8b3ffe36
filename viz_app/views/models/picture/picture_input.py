"""The picture of the page Read a picture: a text to draw, or an uploaded file."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from core.analysis.recorded_call import Call
from core.images.rendering import CHARACTERS, FONTS, HELD_OUT_FONTS, MAX_TEXT, Style, render
from viz_app.controls.widgets import setting_menu
from viz_app.language import marked, tr
from viz_app.session import address, python_code

if TYPE_CHECKING:
    from core.images.line_reader import LineReader
    from core.images.patches import Pixels

EXAMPLE = "Read me!"
DRAWN, _ = address.PICTURE_SOURCE.codec.values
MAX_MEGABYTES = 4
ABOUT_FILE = marked("""
A PNG picture of one line of printed text, cut to the line: capital letters about half as high as the picture. It may be
dark on light or light on dark. It stays on this machine, and is not part of the link.
""")


@dataclass(frozen=True)
class Picture:
    """A picture to read."""

    image: "Pixels"  # ink, as `core.images.picture.line_image` makes it
    title: str  # of the picture
    text: str | None  # that it shows; None if that is not known
    call: "Callable[[Call], Call]"  # makes it again for a reader


def picture_input(reader: "LineReader", source: str) -> Picture | None:
    """Draw the inputs for a value of `address.PICTURE_SOURCE` and return the picture; None if there is none yet.

    Raises:
        ValueError: the text cannot be drawn, or the file cannot be read.
    """
    return _drawn(reader) if source == DRAWN else _uploaded(reader)


def _drawn(reader: "LineReader") -> Picture | None:
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
        font = setting_menu(address.PICTURE_FONT, tr("Font"), {each: _font_name(each) for each in FONTS}, width=230)
        with st.popover(tr("More")):
            size = address.PICTURE_SIZE.draw(st.slider, tr("Size"), 12, 19, width=120, help=tr("Pixels per em"))
            noise = address.PICTURE_NOISE.draw(st.slider, tr("Noise"), 0, 30, width=120, help=tr("Per cent"))
    if not text.strip():
        return None
    style = Style(font=font, size=size, noise=noise / 100)
    drawn = Call("drawn", render, (text, style))
    image, call = _line(drawn, reader)
    return Picture(image, tr("\u201c{drawn}\u201d in {font}", drawn=text, font=font), text, call)


def _uploaded(reader: "LineReader") -> Picture | None:
    from core.images.picture import decode_png

    file = st.file_uploader(
        tr("PNG picture of one line of text"), key="picture_file", help=tr(ABOUT_FILE), max_upload_size=MAX_MEGABYTES
    )
    if file is None:
        return None
    path = python_code.given_path("path", Path(file.name))
    content = Call("content", "read_bytes", (path,)).returning(file.getvalue())
    image, call = _line(Call("picture", decode_png, (content,)), reader)
    return Picture(image, file.name, None, call)


def _line(drawn: Call, reader: "LineReader") -> "tuple[Pixels, Callable[[Call], Call]]":
    """Return a picture as a reader takes it, and the call that makes it for a recorded reader."""
    from core.images.picture import line_image

    image = line_image(drawn.run(), reader.height)
    return image, lambda recorded: Call("image", line_image, (drawn, Call("height", ".height", (recorded,)))).returning(
        image
    )


def _font_name(font: str) -> str:
    return tr("{font} (not trained on)", font=font) if font in HELD_OUT_FONTS else font
