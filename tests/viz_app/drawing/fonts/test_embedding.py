"""Exported pictures have the font of the screen, in all formats."""

import base64
import io
import re
from html import unescape
from typing import Any

from fontTools.ttLib import TTFont
from pypdf import PdfReader

from tests.viz_app.conftest import MakeMap
from viz_app.drawing.export.head_pictures import export_lines
from viz_app.drawing.fonts import FAMILY, REGULAR

FACE = re.compile(r'@font-face\{font-family:"([^"]+)";font-weight:(\w+);src:url\(data:font/woff;base64,([^)]*)\)\}')


def test_a_drawing_in_svg_brings_the_letters_that_it_has_and_no_others(make_map: MakeMap) -> None:
    svg = export_lines(make_map(queries=2, keys=3), [0], "svg", name=lambda *_: "\u0416ijk").decode()
    faces = FACE.findall(svg)
    assert [(family, weight) for family, weight, _ in faces] == [(FAMILY, "normal"), (FAMILY, "bold")][: len(faces)]
    letters = set[str]()
    for _, _, data in faces:
        font: Any = TTFont(io.BytesIO(base64.b64decode(data)))
        letters |= {chr(code) for code in font.getBestCmap()}
    drawn = {letter for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg) for letter in unescape(text)}
    with TTFont(REGULAR) as opened:
        whole: Any = opened
        known = {chr(code) for code in whole.getBestCmap()}
    assert "\u0416" in drawn & letters
    assert drawn & known <= letters
    assert "Q" not in letters


def test_a_pdf_has_the_font_too(make_map: MakeMap) -> None:
    (page,) = PdfReader(io.BytesIO(export_lines(make_map(queries=2, keys=3), [0], "pdf"))).pages
    fonts = [each.get_object()["/BaseFont"] for each in page["/Resources"]["/Font"].values()]  # type: ignore[index]
    assert any("HeadlightSans-Regular" in name for name in fonts), fonts
