"""The PDF of an SVG that a browser could have drawn: size, text, shapes, and what is refused."""

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fontTools.ttLib import TTFont
from matplotlib.path import Path as Outline
from PIL import Image
from pypdf import PdfReader

from viz_app.server import svg_to_pdf
from viz_app.server.fonts import WEIGHTS
from viz_app.server.fonts.__main__ import SOURCES, source
from viz_app.server.svg_to_pdf import MOST_ELEMENTS, outline, pdf_of_svg

TEXT = 'fill="rgb(0, 0, 0)" font-size="16"'
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="90">{content}</svg>'


def svg(content: str, width: str = "160") -> str:
    return SVG.format(width=width, content=content)


def image(side: int) -> str:
    file = io.BytesIO()
    Image.fromarray(np.zeros((side, side, 4), np.uint8)).save(file, "PNG")
    address = f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
    return f'<image href="{address}" x="0" y="0" width="9" height="9"/>'


def test_the_page_has_the_size_and_the_texts() -> None:
    content = (
        f'<g transform="translate(3 4)" opacity="0.5"><text x="9" y="40" {TEXT} textLength="90">Add &amp; $Norm$</text>'
        f'</g><clipPath id="a"><rect width="9" height="9"/></clipPath><g clip-path="url(#a)"><circle cx="9" cy="9" '
        f'r="4"/><text x="0" y="9" transform="rotate(90 1 1)" {TEXT} font-family="&quot;Source Code Pro&quot;" '
        f'text-decoration="line-through">down</text></g><rect width="9" height="9" rx="3" stroke="rgb(1, 1, 1)"/>'
        f'<text x="9" y="9" fill="none">none</text>'
    )
    file = pdf_of_svg(svg(content + image(3)))
    (page,) = PdfReader(io.BytesIO(file)).pages
    assert [float(page.mediabox.width), float(page.mediabox.height)] == pytest.approx([120, 67.5])
    assert "".join(page.extract_text().split()) == "Add&$Norm$down"
    fonts = {each.get_object()["/BaseFont"] for each in page["/Resources"]["/Font"].values()}  # type: ignore[index]
    assert {name.rpartition("+")[2] for name in fonts} == {"HeadlightSans-Regular", "HeadlightMono-Regular"}
    assert file == pdf_of_svg(svg(content + image(3)))  # without a date


def test_paths_are_those_of_svg() -> None:
    """H and V keep the other coordinate, T mirrors the control point of Q, and Z returns to the start."""
    vertices, codes = outline("M1 2H5V-7.5L0 1e1Z M0 0Q1 1 2 0T4 0")
    assert vertices == [(1, 2), (5, 2), (5, -7.5), (0, 10), (1, 2), (1, 2), (0, 0), (1, 1), (2, 0), (3, -1), (4, 0)]
    line, curve = [Outline.LINETO] * 4, [Outline.CURVE3] * 4
    assert codes == [Outline.MOVETO, *line, Outline.CLOSEPOLY, Outline.MOVETO, *curve]


def test_rectangles_of_one_colour_are_what_any_path_is() -> None:
    """They are read in another way, since a map has thousands."""
    cells = "M1 2H5V7.25H1ZM0 0H-1.5V3H0Z"
    (quick, codes), (vertices, others) = outline(cells), outline(f"{cells}M0 0")
    corners = [corner for corner, code in zip(vertices, others, strict=True) if code != Outline.CLOSEPOLY][:-1]
    assert [*map(tuple, quick.tolist())] == corners
    assert [code for code in codes if code == Outline.MOVETO] == [Outline.MOVETO] * 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!DOCTYPE svg [<!ENTITY a 'aa'>]>" + svg(""), "the SVG has a declaration or a comment"),
        ("<svg", "the SVG cannot be read"),
        (svg("", "a"), "could not convert"),
        (svg("", "nan"), "the SVG has nan by 90 pixels, expected 1 to 16,000"),
        (svg("", "1e9"), "the SVG has 1e\\+09 by 90 pixels"),
        (svg('<path d="M1"/>'), "the SVG has a path that cannot be read: 'M1'"),
        (svg('<g clip-path="url(#a)"><path d="M1 1"/></g>'), "the SVG cannot be read: 'a'"),
        (svg('<image href="file:///etc/passwd"/>'), "an image that is not within it as PNG"),
        (svg('<image href="data:image/png;base64,AAAA"/>'), "the SVG cannot be read"),
        (svg('<circle cx="9" cy="9"/>'), "could not convert"),
    ],
)
def test_what_is_no_drawing_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pdf_of_svg(text)


def test_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svg_to_pdf, "MOST_ELEMENTS", 2)
    with pytest.raises(ValueError, match="the SVG has 4 elements, at most 2 are drawn"):
        pdf_of_svg(svg("<path/>" * 3))
    monkeypatch.setattr(svg_to_pdf, "MOST_ELEMENTS", MOST_ELEMENTS)
    monkeypatch.setattr(svg_to_pdf, "MOST_PIXELS", 8)
    with pytest.raises(ValueError, match=r"the SVG has an image of \(3, 3\) pixels, at most 8 are drawn"):
        pdf_of_svg(svg(image(3)))


def test_letters_that_no_font_has_are_named_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def text(drawn: str) -> str:
        file = pdf_of_svg(svg(f'<text x="9" y="40" {TEXT}>{drawn}</text>'))
        return PdfReader(io.BytesIO(file)).pages[0].extract_text()

    assert "Letters are missing" not in text("ab\u0416\ufeff")
    known = svg_to_pdf.letters_of_fonts() - {ord("\u0416")}
    monkeypatch.setattr(svg_to_pdf, "letters_of_fonts", lambda: known)
    assert "Letters are missing here" in text("ab\u0416")


@pytest.mark.parametrize(("path", "family", "weight"), [(path, *look) for path, look in WEIGHTS.items()])
def test_matplotlib_knows_the_fonts_by_family_and_weight(path: Path, family: str, weight: int) -> None:
    with TTFont(path) as opened:
        font: Any = opened
        assert font["name"].getDebugName(1) == family
        assert font["OS/2"].usWeightClass == (400 if weight == 400 else 700)
        assert "Source" not in font["name"].getDebugName(4)  # the licence reserves the name for unchanged files


@pytest.mark.parametrize("family", SOURCES)
def test_streamlit_shows_the_fonts_that_they_are_made_from(family: str) -> None:
    assert source(family).is_file()
