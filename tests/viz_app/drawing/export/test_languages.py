"""Exported pictures with texts in any language, and on a computer without the fonts for them."""

import io

import pytest
from pypdf import PdfReader

from tests.viz_app.conftest import MakeMap
from tests.viz_app.export_readers import READERS
from viz_app import language
from viz_app.drawing.export import canvas
from viz_app.drawing.export.canvas import FORMATS, Format, letters, slide, wrapped
from viz_app.drawing.export.head_pictures import export_lines, export_map
from viz_app.language import in_this_language

TITLE = "\u6ce8\u610f\u529b\u6743\u91cd / \uc8fc\uc758 \uac00\uc911\uce58"  # Chinese and Korean
OMEGA = "\u03a9"
NOTE = "Letters are missing here"


def drawn(make_map: MakeMap, file_format: Format, name: str = TITLE) -> bytes:
    return export_map(make_map(queries=1, keys=1), 0, file_format, name=lambda *_: name)


@pytest.fixture
def dejavu_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A computer with no other font, and as if omega were missing in it, too.

    For other missing letters a PDF has matplotlib's font of last resort, which takes half a second to cut: there is one
    in the caption of test_slides.
    """
    monkeypatch.setattr(canvas, "fonts", lambda: ["DejaVu Sans"])
    known = canvas.letters_of_fonts.__wrapped__() - {ord(OMEGA)}
    monkeypatch.setattr(canvas, "letters_of_fonts", lambda: known)


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.usefixtures("dejavu_alone")
def test_letters_without_a_font_are_text_in_svg_and_otherwise_named_as_missing(make_map: MakeMap) -> None:
    svg = drawn(make_map, "svg").decode()
    assert TITLE in svg
    assert "sans-serif" in svg
    assert NOTE not in svg
    READERS["png"](drawn(make_map, "png"))
    with slide("A caption"):
        on_slide = drawn(make_map, "pdf", OMEGA)
    for file in (drawn(make_map, "pdf", OMEGA), on_slide):
        (page,) = PdfReader(io.BytesIO(file)).pages
        assert NOTE in " ".join(page.extract_text().split())


@pytest.mark.parametrize("file_format", FORMATS)
def test_byte_order_marks_are_left_out(make_map: MakeMap, file_format: Format) -> None:
    names = iter(("\ufeff", "a\ufeffb", "c"))  # a name may be of nothing else
    lines = export_lines(make_map(queries=1, keys=1), [0, 1, 2], file_format, name=lambda *_: next(names))
    for file in (lines, drawn(make_map, file_format, "a\ufeffb")):  # and beside the axes of a map
        READERS[file_format](file)
        assert "\ufeff".encode() not in file


def test_a_picture_has_no_note_if_no_letter_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    every = frozenset(range(0x110000))
    monkeypatch.setattr(canvas, "letters_of_fonts", lambda: every)
    assert canvas.missing_note(TITLE) == ""


def test_lines_of_wide_letters_are_as_wide_as_others() -> None:
    text = TITLE * 20
    assert max(map(letters, wrapped(text, 40))) <= 1.2 * 40
    assert "".join(wrapped(text, 40)).replace(" ", "") == text.replace(" ", "")
    assert wrapped("", 40) == []


def test_a_download_is_in_the_language_of_the_page_that_offers_it(monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = language.VisitorLanguage("ko")
    visitors = language._visitors  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(visitors, "run", object)
    monkeypatch.setattr(visitors, "visitor", lambda: visitor)
    kept = in_this_language(language.language)
    visitor.code = "en"
    assert (kept(), language.language()) == ("ko", "en")
