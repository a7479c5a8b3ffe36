"""The PDF of a drawing of the browser has its size, its texts and its shapes, and refuses what is no such drawing."""

import base64
import io

import numpy as np
import pytest
from matplotlib.path import Path as Outline
from PIL import Image
from pypdf import PdfReader

from viz_app.drawing.export import svg_to_pdf
from viz_app.drawing.export.svg_to_pdf import MOST_CELLS, MOST_ELEMENTS, outline, pdf_of_svg

TEXT = "fill:rgb(0, 0, 0);font-size:16px;font-weight:400"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" class="light" width="{width}" height="90">{content}</svg>'


def svg(content: str, width: str = "160") -> str:
    return SVG.format(width=width, content=content)


def image(side: int) -> str:
    file = io.BytesIO()
    Image.fromarray(np.zeros((side, side, 4), np.uint8)).save(file, "PNG")
    address = f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
    return f'<image href="{address}" x="0" y="0" width="9" height="9" style="opacity:1"/>'


def test_the_page_has_the_size_and_the_visible_texts() -> None:
    line = f'<text x="9" y="40" style="{TEXT}"'
    content = (
        f'<g>{line} textLength="90">Add &amp; <tspan style="{TEXT}">$Norm$</tspan></text></g>'
        f'<defs>{line}>defs</text></defs><text x="9" y="9" style="display:none;{TEXT}">none</text>'
        '<circle cx="9" cy="9" r="4" style="fill:rgb(9, 9, 9)"/>'
        '<rect width="9" height="9" style="stroke:rgb(1, 1, 1)"/>'
    )
    file = pdf_of_svg(svg(content + image(3)))
    (page,) = PdfReader(io.BytesIO(file)).pages
    assert [float(page.mediabox.width), float(page.mediabox.height)] == pytest.approx([120, 67.5])
    text = page.extract_text()
    assert "".join(text.split()) == "Add&$Norm$"
    assert file == pdf_of_svg(svg(content + image(3)))  # without a date


def test_paths_are_those_of_svg() -> None:
    """H and V keep the other coordinate, T mirrors the control point of Q, and Z returns to the start."""
    vertices, codes = outline("M1 2H5V-7.5L0 1e1Z M0 0Q1 1 2 0T4 0")
    assert vertices == [(1, 2), (5, 2), (5, -7.5), (0, 10), (1, 2), (0, 0), (1, 1), (2, 0), (3, -1), (4, 0)]
    line, curve = [Outline.LINETO] * 3, [Outline.CURVE3] * 4
    assert codes == [Outline.MOVETO, *line, Outline.CLOSEPOLY, Outline.MOVETO, *curve]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!DOCTYPE svg [<!ENTITY a 'aa'>]>" + svg(""), "the SVG has a declaration or a comment"),
        ("<svg", "the SVG cannot be read"),
        (svg("", "a"), "could not convert"),
        (svg("", "nan"), "the SVG has nan by 90 pixels, expected 1 to 8,000"),
        (svg("", "1e9"), "the SVG has 1e\\+09 by 90 pixels"),
        (svg('<path d="M1" style="fill:rgb(1, 1, 1)"/>'), "zip"),
        (svg('<path d="H" style="fill:rgb(1, 1, 1)"/>'), "the SVG cannot be read"),
        (svg('<image href="file:///etc/passwd"/>'), "an image that is not within it as PNG"),
        (svg('<image href="data:image/png;base64,AAAA"/>'), "the SVG cannot be read"),
        (svg(image(MOST_CELLS + 1)), f"at most {MOST_CELLS} a side"),
        (svg('<circle cx="9" cy="9" style="fill:rgb(9, 9, 9)"/>'), "could not convert"),
    ],
)
def test_what_is_no_drawing_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pdf_of_svg(text)


def test_too_many_elements_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svg_to_pdf, "MOST_ELEMENTS", 2)
    with pytest.raises(ValueError, match="the SVG has 3 elements, at most 2 are drawn"):
        pdf_of_svg(svg("<path/>" * 3))
    assert MOST_ELEMENTS > 2
