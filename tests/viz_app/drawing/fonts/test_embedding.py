"""Exported pictures have the font of the screen, in all formats."""

import base64
import io
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from fontTools.ttLib import TTFont
from pypdf import PdfReader

from tests.viz_app.conftest import MakeMap
from viz_app.drawing.export.head_pictures import export_lines
from viz_app.drawing.fonts import BOLD, FAMILY, REGULAR
from viz_app.drawing.fonts.__main__ import source

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


@pytest.mark.parametrize(("path", "weight"), [(REGULAR, 400), (BOLD, 700)])
def test_matplotlib_knows_the_files_by_family_and_weight(path: Path, weight: int) -> None:
    with TTFont(path) as opened:
        font: Any = opened
        assert font["name"].getDebugName(1) == FAMILY
        assert font["OS/2"].usWeightClass == weight
        assert "Source" not in font["name"].getDebugName(4)  # the licence reserves the name for unchanged files


def test_streamlit_shows_the_font_that_they_are_made_from() -> None:
    assert source().is_file()
