"""Read a picture: a line of text as patches, and where each character is found."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from core.analysis.recorded_call import Call
from core.images.line_reader import BEAM_SIZE, LENGTH_PENALTY, attention_table
from core.images.rendering import CHARACTERS, FONTS, HELD_OUT_FONTS, MAX_TEXT, Style, render
from viz_app.controls.downloads import downloads
from viz_app.controls.score_products import NO_HEAD, map_with_products
from viz_app.controls.tables import show_table
from viz_app.controls.widgets import page_theme, setting_menu, setting_segments, show_answer
from viz_app.drawing.display_text import decimal, plain, sentence_case
from viz_app.drawing.theme import head_name
from viz_app.language import marked, tr
from viz_app.session import address, readings
from viz_app.session.map_pass import Cell, MapPass, by_layer, replayed
from viz_app.session.models import Model, ModelError, not_installed
from viz_app.session.python_code import given_path, translator
from viz_app.views.models.picture import reader_model
from viz_app.views.models.picture.figures import character_attention, characters_html, head_map, named_maps

if TYPE_CHECKING:
    from core.images.line_reader import LineReader
    from core.images.patches import Pixels
    from core.results import Explanation, ScoredText

MEAN = marked("Mean of all")
_, MAP, TABLE = address.PICTURE_VIEW.codec.values
HOW_TO_READ = marked("""
The encoder takes the picture as patches of 8 x 8 pixels, each projected to a vector like an embedded word; the decoder
writes one character after the other. There is a picture for each character, from the first to the end `</s>`: the
stronger the colour of a patch, the more attention it got when that character was written. The weights of a picture sum
to 1; the number is the probability of the character.

A patch that has a high weight need not be the one that decided the character: the encoder has already mixed each patch
with all others, and the decoder also knows the characters written before.
""")
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
    path = given_path("path", Path(file.name))
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


def result(
    model: Model, reader: "LineReader", picture: Picture, line: "ScoredText", explanation: "Explanation"
) -> None:
    """Show the characters read, and how they were."""
    about = tr(
        "Log-probability {value}, read by {model}, beam {beam}, length penalty {penalty}.",
        value=decimal(line.log_prob, 2),
        model=model.name,
        beam=BEAM_SIZE,
        penalty=LENGTH_PENALTY,
    )
    if picture.text is not None:
        about = f"{about} {tr('The same as drawn.') if line.text == picture.text else tr('Not as drawn.')}"
    show_answer(reader.answer(explanation), tr(HOW_TO_READ), about)


def attention(
    model: Model, reader: "LineReader", picture: Picture, line: "ScoredText", explanation: "Explanation"
) -> None:
    """Draw the attention of every character on the picture."""
    theme, maps = page_theme(), explanation.maps["cross"]
    heads = {head_name(each.layer, head): (each.layer, head) for each in maps for head in range(each.num_heads)}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="picture_view_options"):
        view = setting_segments(address.PICTURE_VIEW, tr("View"))
        name = setting_menu(address.PICTURE_HEAD, tr("Head"), [MEAN, *heads], width=180)
    place, title = heads.get(name, (-1, -1)), tr(name)
    characters = character_attention(explanation, reader.rows, *place)
    drawn, head = head_map(explanation, *place)
    if view == TABLE:
        show_table(attention_table(explanation), height=480)
    elif view == MAP:
        of = NO_HEAD if name == MEAN else picture_pass(model, reader, picture, line, explanation)
        map_with_products(drawn, head, theme, of, key="picture_map", name=lambda *_: title)
    else:
        alt = tr("The picture for each character, tinted by the attention of {head}", head=title)
        with st.container(key="picture-characters"):
            st.html(characters_html(picture.image, characters, reader.patch_size, theme, alt))
    title = tr(
        "Cross-attention, {head}: {picture} read as \u201c{text}\u201d",
        head=title,
        picture=picture.title,
        text=explanation.target,
    )
    table = Call("table", attention_table, (recorded_explanation(model, reader, picture, explanation),))
    drawing = {MAP: "picture_map", TABLE: None}.get(view, "picture-characters")
    downloads("picture-attention", drawing, table, title=title, of_sentence=False)


def picture_pass(
    model: Model, reader: "LineReader", picture: Picture, line: "ScoredText", explanation: "Explanation"
) -> MapPass:
    """Return the pass over a picture and its characters."""
    image, token_ids = picture.image, line.token_ids

    def call(cell: Cell) -> Call:
        recorded = recorded_reader(model, reader)
        return replayed(translator(model), "explain", (picture.call(recorded), list(token_ids)), cell, recorded)

    return MapPass(
        (model.digest, image.shape, image.tobytes(), token_ids), by_layer({"cross": named_maps(explanation)}), call
    )


def recorded_reader(model: Model, reader: "LineReader") -> Call:
    """Return the reader as an argument of recorded calls."""
    from core.images.line_reader import LineReader

    return Call("reader", LineReader, (translator(model),)).returning(reader)


def recorded_explanation(model: Model, reader: "LineReader", picture: Picture, explanation: "Explanation") -> Call:
    """Return the call that reads and explains the picture."""
    recorded = recorded_reader(model, reader)
    image = picture.call(recorded)
    written = Call("token_ids", ".token_ids", (Call("line", "read", (recorded, image)),))
    return Call("explanation", "explain", (recorded, image, written)).returning(explanation)


def page(model: Model) -> None:
    """Draw the page."""
    try:
        model, reader = reader_model.reader_for(model)
    except ModelError as error:
        st.info(not_installed(reader_model.SHIPPED, plain(str(error))))
        return
    above = st.container()  # of the answer, from the picture below
    source = setting_segments(address.PICTURE_SOURCE, tr("Picture"), hide_label=True)
    try:
        picture = picture_input(reader, source)
        if picture is None:
            above.markdown(tr("**Read a picture** of a line of text, character by character"), help=tr(HOW_TO_READ))
            st.caption(tr("Type a text or upload a picture of one."))
            return
        line, explanation = reader_model.read(model, picture.image, reader)
    except ValueError as error:
        st.error(sentence_case(str(error)))
        return
    with above:
        result(model, reader, picture, line, explanation)
    attention(model, reader, picture, line, explanation)


page(readings.model())
