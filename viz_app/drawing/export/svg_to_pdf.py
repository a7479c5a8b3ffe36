"""A picture that the browser has drawn, as a PDF of the same vectors.

The SVG is that of `core/drawing/figure1_file.js`: every drawn element has its style as an attribute, in pixels.
"""

import base64
import io
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from viz_app.drawing.export.canvas import HATCH, fonts, paper, saved
from viz_app.drawing.theme import DARK, LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ELEMENTS = 20_000  # of a picture
MOST_SIDE = 8_000  # pixels
MOST_CELLS = 256  # along a side of an image
SHARP = 8  # pixels of the PDF for one of an image: readers smooth enlarged ones
INCH, POINT = 96, 0.75  # pixels an inch, points a pixel
_COMMAND = re.compile(r"([A-Z])([^A-Z]*)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_IMAGE = "data:image/png;base64,"

Style = Mapping[str, str]


def pdf_of_svg(text: str) -> bytes:
    """Return the picture as a PDF file.

    Raises:
        ValueError: it is not such an SVG, or too large.
    """
    if "<!" in text:
        raise ValueError("the SVG has a declaration or a comment: expected elements alone")
    try:
        root = ElementTree.fromstring(text)
        elements = list(_drawn(root))
        if len(elements) > MOST_ELEMENTS:
            raise ValueError(f"the SVG has {len(elements):,} elements, at most {MOST_ELEMENTS:,} are drawn")
        width, height = (_number(root, side) for side in ("width", "height"))
        if not (0 < width <= MOST_SIDE and 0 < height <= MOST_SIDE):
            raise ValueError(f"the SVG has {width:g} by {height:g} pixels, expected 1 to {MOST_SIDE:,}")
        figure, axes = paper(width / INCH, height / INCH, DARK if root.get("class") == "dark" else LIGHT)
        figure.set_layout_engine("none")
        axes.set_position((0, 0, 1, 1))
        axes.axis("off")
        for element in elements:
            style = _style(element)
            if style.get("display") != "none" and float(style.get("opacity", "1")) > 0:
                _DRAW[_tag(element)](axes, element, style)
        axes.set(xlim=(0, width), ylim=(height, 0), aspect="auto")
        return saved(figure, "pdf")
    except (ElementTree.ParseError, KeyError, IndexError, TypeError, OSError) as error:
        raise ValueError(f"the SVG cannot be read: {error}") from error


def _drawn(node: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """Yield what is drawn, from back to front."""
    for child in node:
        if _tag(child) in _DRAW:
            yield child
        elif _tag(child) in ("g", "a", "svg"):
            yield from _drawn(child)


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _style(element: ElementTree.Element) -> Style:
    pairs = (each.split(":", 1) for each in element.get("style", "").split(";") if ":" in each)
    return {name.strip(): value.strip() for name, value in pairs}


def _number(element: ElementTree.Element, name: str, default: str = "") -> float:
    return float(element.get(name, default))


def _color(style: Style, name: str) -> tuple[float, ...] | None:
    """Return red, green, blue and alpha from 0 to 1; None for nothing to see."""
    value = style.get(name, "none")
    numbers = [float(each) for each in _NUMBER.findall(value)] if value.startswith("rgb") else []
    if len(numbers) not in (3, 4):
        return None
    alpha = (numbers[3:] or [1.0])[0] * float(style.get(f"{name}-opacity", "1")) * float(style.get("opacity", "1"))
    return (*(channel / 255 for channel in numbers[:3]), alpha) if alpha else None


def _draw_path(axes: "Axes", element: ElementTree.Element, style: Style) -> None:
    _patch(axes, element.get("d", ""), style)


def _draw_rect(axes: "Axes", element: ElementTree.Element, style: Style) -> None:
    x, y, width, height = (_number(element, name, "0") for name in ("x", "y", "width", "height"))
    r = min(_number(element, "rx", "0"), width / 2, height / 2)
    right, bottom = x + width, y + height
    _patch(
        axes,
        f"M{x + r} {y}H{right - r}Q{right} {y} {right} {y + r}V{bottom - r}Q{right} {bottom} {right - r} {bottom}"
        f"H{x + r}Q{x} {bottom} {x} {bottom - r}V{y + r}Q{x} {y} {x + r} {y}Z",
        style,
    )


def _draw_circle(axes: "Axes", element: ElementTree.Element, style: Style) -> None:
    from matplotlib.patches import Circle

    center = _number(element, "cx"), _number(element, "cy")
    axes.add_patch(Circle(center, _number(element, "r"), **_paint(style)))


def _patch(axes: "Axes", d: str, style: Style) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    vertices, codes = outline(d)
    if vertices:
        axes.add_patch(PathPatch(Path(vertices, codes), **_paint(style)))


def _paint(style: Style) -> dict[str, Any]:
    fill, stroke = _color(style, "fill"), _color(style, "stroke")
    width = POINT * float(style.get("stroke-width", "1px").removesuffix("px"))
    if style.get("fill", "").startswith("url("):  # of masked cells
        return {"facecolor": "none", "edgecolor": LIGHT.hairline, "linewidth": 0, "hatch": HATCH, "zorder": 1}
    colors = {"facecolor": fill or "none", "edgecolor": stroke or "none"}
    return {**colors, "linewidth": width if stroke else 0, "zorder": 1}


def outline(d: str) -> tuple[list[tuple[float, float]], list[int]]:
    """Return the vertices and codes of a path of absolute commands M, L, H, V, Q, T and Z."""
    from matplotlib.path import Path

    vertices: list[tuple[float, float]] = []
    codes: list[int] = []
    start = last = control = (0.0, 0.0)
    for command, text in _COMMAND.findall(d):
        numbers = [float(each) for each in _NUMBER.findall(text)]
        if command == "Z":
            vertices.append(start)
            codes.append(int(Path.CLOSEPOLY))
            last = control = start
            continue
        if command in "HV":
            points = [(numbers[0], last[1]) if command == "H" else (last[0], numbers[0])]
        else:
            points = list(zip(numbers[::2], numbers[1::2], strict=True))
        if command == "T":
            points = [(2 * last[0] - control[0], 2 * last[1] - control[1]), *points]
        is_curve = command in "QT"
        code = int(Path.MOVETO if command == "M" else Path.CURVE3 if is_curve else Path.LINETO)
        start = points[0] if command == "M" else start
        vertices += points
        codes += [code] * len(points)
        last, control = points[-1], points[0] if is_curve else points[-1]
    return vertices, codes


def _draw_image(axes: "Axes", element: ElementTree.Element, style: Style) -> None:
    from PIL import Image

    address = element.get("href", "")
    if not address.startswith(_IMAGE):
        raise ValueError("the SVG has an image that is not within it as PNG")
    with Image.open(io.BytesIO(base64.b64decode(address.removeprefix(_IMAGE))), formats=["PNG"]) as image:
        if max(image.size) > MOST_CELLS:
            raise ValueError(f"the SVG has an image of {image.size} pixels, at most {MOST_CELLS} a side are drawn")
        pixels = np.asarray(image.convert("RGBA"))
    x, y, width, height = (_number(element, name) for name in ("x", "y", "width", "height"))
    sharp = pixels.repeat(SHARP, axis=0).repeat(SHARP, axis=1)
    axes.imshow(sharp, extent=(x, x + width, y + height, y), interpolation="none", aspect="auto", zorder=1)


def _draw_text(axes: "Axes", element: ElementTree.Element, style: Style) -> None:
    """Draw a line of text as wide as on the screen, each part in its own style."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    parts = [(element.text or "", style), *((part.text or "", {**style, **_style(part)}) for part in element)]
    looks: list[tuple[str, tuple[float, ...], FontProperties, float]] = []
    for text, own in parts:
        color = _color({**own, "opacity": style.get("opacity", "1")}, "fill")  # that of a part is not inherited
        if not text or color is None:
            continue
        family = ["DejaVu Sans Mono"] if "Code" in own.get("font-family", "") else []
        size = POINT * float(own.get("font-size", "13px").removesuffix("px"))
        weight = "bold" if float(own.get("font-weight", "400")) >= 600 else "normal"
        font = FontProperties(family=[*family, *fonts()], size=size, weight=weight)
        width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
        looks.append((text, color, font, width / POINT))
    natural = sum(width for *_, width in looks)
    wide = _number(element, "textLength", str(natural))
    shrunk = min(1.0, wide / natural) if natural else 1.0
    x = _number(element, "x") - wide * {"middle": 0.5, "end": 1.0}.get(style.get("text-anchor", ""), 0.0)
    x += (wide - natural * shrunk) / 2
    for text, color, font, width in looks:
        font.set_size(font.get_size_in_points() * shrunk)
        axes.text(
            x, _number(element, "y"), text, color=color, fontproperties=font, va="baseline", parse_math=False, zorder=1
        )
        x += width * shrunk


_DRAW: dict[str, Callable[["Axes", ElementTree.Element, Style], None]] = {
    "path": _draw_path,
    "rect": _draw_rect,
    "circle": _draw_circle,
    "image": _draw_image,
    "text": _draw_text,
}
