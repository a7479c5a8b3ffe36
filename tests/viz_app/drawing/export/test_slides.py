"""Exported pictures: readable type, and slides of 16:9 with a caption."""

import re
import struct
from collections.abc import Callable
from typing import NamedTuple

import pytest

from core.parsing.trees import read_trees
from tests.viz_app.conftest import MakeMap
from tests.viz_app.export_readers import READERS
from viz_app.drawing.export.canvas import SLIDE_PIXELS, SMALL_POINTS, Format, slide
from viz_app.drawing.export.head_pictures import export_lines, export_map
from viz_app.drawing.export.map_panels import export_panels
from viz_app.drawing.export.plotly_chart import export_chart
from viz_app.drawing.export.token_steps import export_steps
from viz_app.drawing.theme import DARK, LIGHT
from viz_app.views.models.parsing.figures import export_tree
from viz_app.views.paper.paper_figures.figures import LinePanel, appendix_figure
from viz_app.views.paper.positions.figures.positions import sinusoids

CAPTION = (
    "Cross-attention, L5 H3: \u201cA <dog> runs.\u201d \u2192 \u201cEin Hund l\u00e4uft.\u201d. en-de.safetensors " * 3
)
POINT = re.compile(r"font(?:-size)?: (?:[a-z]+ )*([0-9.]+)px")


class Drawn(NamedTuple):
    """A drawing by itself, and on a slide."""

    draw: Callable[[Format], bytes]
    plain: bytes
    on_slide: bytes


@pytest.fixture(scope="module", params=["map", "lines", "panels", "appendix", "tree", "tokens", "chart"])
def drawn(request: pytest.FixtureRequest, make_map: MakeMap) -> Drawn:
    """A drawing of each kind."""
    attention = make_map(queries=3, keys=2)
    (tree,) = read_trees("(S (NP (DT The) (NN dog)) (VP (VBZ runs)))")
    matrix = attention.weights[0].numpy()
    drawings: dict[str, Callable[[Format], bytes]] = {
        "map": lambda file_format: export_map(attention, 0, file_format),
        "lines": lambda file_format: export_lines(attention, [0, 1], file_format),
        "panels": lambda file_format: export_panels([[("L1 H1", matrix), ("L1 H2", matrix)]], file_format),
        "appendix": lambda file_format: appendix_figure([LinePanel(attention, (0, 1), (2,))], file_format),
        "tree": lambda file_format: export_tree(tree, file_format),
        "tokens": lambda file_format: export_steps(["\u2581Ein", "\u2581Hund"], [-0.1, -1.0], file_format),
        "chart": lambda file_format: export_chart(sinusoids([0, 2], 8, 16, LIGHT), file_format),
    }
    draw = drawings[request.param]
    plain = draw("svg")
    with slide(CAPTION):
        on_slide = draw("svg")
    return Drawn(draw, plain, on_slide)


def texts(svg: bytes) -> list[tuple[float, float, str]]:
    """x, y and content of every text."""
    rotated = re.findall(r"<text[^>]*translate\(([0-9.-]+) ([0-9.-]+)\)[^>]*>([^<]*)</text>", svg.decode())
    upright = re.findall(r'<text[^>]* x="([0-9.-]+)" y="([0-9.-]+)"[^>]*>([^<]*)</text>', svg.decode())
    return [(float(x), float(y), text) for x, y, text in [*rotated, *upright]]


def points(svg: bytes) -> list[float]:
    """The sizes of all text in an SVG, in its own units, which are points."""
    return [float(size) for size in POINT.findall(svg.decode())]


def size(svg: bytes) -> tuple[float, float]:
    found = re.search(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"', svg.decode())
    assert found
    return float(found[1]), float(found[2])


def test_no_text_is_smaller_than_readable(drawn: Drawn) -> None:
    assert min(points(drawn.plain)) >= SMALL_POINTS


def test_a_slide_has_the_drawing_in_its_size_and_a_caption(drawn: Drawn) -> None:
    plain, svg = drawn.plain, drawn.on_slide
    width, height = size(svg)
    assert width / height == pytest.approx(16 / 9, rel=1e-3)
    assert min(size(svg)[axis] - size(plain)[axis] for axis in (0, 1)) > 0
    text = re.sub(r"\s+", " ", " ".join(text for _, _, text in texts(svg)))
    assert "A &lt;dog&gt; runs." in text
    # the drawing's text in its size, and that of the caption
    assert set(points(plain)) <= set(points(svg))
    assert len(points(svg)) > len(points(plain))


@pytest.mark.parametrize("drawn", ["lines"], indirect=True)
def test_a_slide_has_its_pixels_and_changes_nothing_later(drawn: Drawn) -> None:
    with slide(CAPTION):
        png = drawn.draw("png")
    assert struct.unpack(">II", png[16:24]) == (SLIDE_PIXELS, SLIDE_PIXELS * 9 // 16)
    assert drawn.draw("svg") == drawn.plain


def test_the_drawing_stands_above_the_caption_and_inside_the_slide(drawn: Drawn) -> None:
    width, height = size(drawn.on_slide)
    of_drawing, on_slide = {text for _, _, text in texts(drawn.plain)}, texts(drawn.on_slide)
    caption = [y for _, y, text in on_slide if text not in of_drawing]
    assert len(caption) > 1
    assert of_drawing < {text for _, _, text in on_slide}
    assert all(0 <= x <= width and 0 <= y <= height for x, y, _ in on_slide)
    assert all(y < min(caption) for _, y, text in on_slide if text in of_drawing)


def test_a_dark_drawing_has_a_light_caption(make_map: MakeMap) -> None:
    attention = make_map(1, 1)
    with slide("words"):
        assert f"fill: {DARK.text}" in export_lines(attention, [0], "svg", DARK).decode()


@pytest.mark.parametrize("file_format", ["svg", "pdf", "png"])
def test_a_caption_with_control_characters_can_be_opened(make_map: MakeMap, file_format: Format) -> None:
    with slide("A\x07 dog\x00 \ufffe\U0010ffff"):
        file = export_lines(make_map(1, 1), [0], file_format)
    READERS[file_format](file)
    if file_format == "svg":
        assert "A\ufffd dog\ufffd \ufffd\U0010ffff".encode() in file
