"""A picture that the browser has drawn, as a PDF of the same vectors.

The SVG is that of `core/drawing/svg_file.js`: elements with their colours as attributes, in pixels, and groups with a
transform, an opacity or a clip of a rectangle.
"""

import base64
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from viz_app.language import marked, tr
from viz_app.server.fonts import MONOSPACE, SANS, WEIGHTS

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

MOST_ELEMENTS = 100_000  # of a picture
MOST_SIDE = 16_000  # pixels
MOST_PIXELS = 4_000_000  # of an image
SHARP = 8  # pixels of the PDF for one of a small image: readers smooth enlarged ones
INCH, POINT = 96, 0.75  # pixels an inch, points a pixel
NOTE = 18  # pixels of a line of the note below a picture
CLOSED = 0.2  # pixels of the line that closes the gaps which readers show between neighbouring cells
DIGITS = 12  # of a number
WIDER = 1.06  # letters than natural, at most: the browser rounds their widths
# Of Linux, Windows and macOS, tried in order for letters missing from the screen's fonts and matplotlib's own.
OTHER_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK KR", "Noto Sans CJK JP", "Noto Sans SC", "Noto Sans KR", "WenQuanYi Zen Hei",
    "NanumGothic", "Droid Sans Fallback", "Microsoft YaHei", "Malgun Gothic", "PingFang SC", "Hiragino Sans GB",
    "Apple SD Gothic Neo", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Emoji",
)  # fmt: skip
_NUMBER = re.compile(r"-?\d*\.?\d+(?:e-?\d+)?")
_CELLS = re.compile(r"(?:M[-\d.]+ [-\d.]+H[-\d.]+V[-\d.]+H[-\d.]+Z)+")  # rectangles of one colour
_TRANSFORM = re.compile(r"(translate|rotate|matrix)\(([^)]*)\)")
_IMAGE = "data:image/png;base64,"
_BYTE_ORDER_MARK = "\ufeff"  # nothing to see; matplotlib 3.11 cannot write it into a PDF file

Attributes = Mapping[str, str]
Matrix = NDArray[np.float64]  # [3, 3]


@dataclass(frozen=True)
class _Place:
    """What the groups around an element give it."""

    axes: "Axes"
    clips: Mapping[str, ElementTree.Element]
    matrix: Matrix
    opacity: float = 1.0
    clip: tuple[float, float, float, float] | None = None  # left, top, right, bottom

    def add(self, artist: "Artist") -> None:
        """Cut an artist off where the picture is."""
        from matplotlib.transforms import Bbox, TransformedBbox

        if self.clip is not None:
            left, top, right, bottom = self.clip
            artist.set_clip_box(TransformedBbox(Bbox([[left, top], [right, bottom]]), self.axes.transData))

    def points(self, values: Any) -> NDArray[np.float64]:
        """Return points [N, 2] on the page."""
        return np.asarray(values, dtype=np.float64) @ self.matrix[:2, :2].T + self.matrix[:2, 2]

    @property
    def scale(self) -> float:
        """How much larger lines and letters are."""
        return float(np.sqrt(abs(np.linalg.det(self.matrix[:2, :2]))))


def pdf_of_svg(text: str) -> bytes:
    """Return the picture as a PDF file, without a date.

    If no font has some of its letters, the file says so.

    Raises:
        ValueError: it is not such an SVG, or too large.
    """
    import matplotlib
    from matplotlib.figure import Figure

    if "<!" in text:
        raise ValueError("the SVG has a declaration or a comment: expected elements alone")
    try:
        root = ElementTree.fromstring(text)
        elements = list(root.iter())
        if len(elements) > MOST_ELEMENTS:
            raise ValueError(f"the SVG has {len(elements):,} elements, at most {MOST_ELEMENTS:,} are drawn")
        width, height = (_number(root.attrib, side) for side in ("width", "height"))
        if not (0 < width <= MOST_SIDE and 0 < height <= MOST_SIDE):
            raise ValueError(f"the SVG has {width:g} by {height:g} pixels, expected 1 to {MOST_SIDE:,}")
        note = missing_note("".join("".join(each.itertext()) for each in elements if _tag(each) == "text"))
        below = NOTE if note else 0
        matplotlib.rcParams["pdf.fonttype"] = 42  # text stays text: it can be searched and edited
        figure = Figure(figsize=(width / INCH, (height + below) / INCH))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.axis("off")
        clips = {each.get("id", ""): each[0] for each in elements if _tag(each) == "clipPath"}
        _draw(root, _Place(axes, clips, np.eye(3)))
        if note:
            axes.text(8, height + NOTE / 2, note, fontsize=9, fontfamily=fonts(SANS), va="center", parse_math=False)
        axes.set(xlim=(0, width), ylim=(height + below, 0), aspect="auto")
        file = io.BytesIO()
        figure.savefig(file, format="pdf", metadata={"CreationDate": None})
        return file.getvalue()
    except (ElementTree.ParseError, KeyError, IndexError, TypeError, OSError) as error:
        raise ValueError(f"the SVG cannot be read: {error}") from error


def missing_note(drawn: str) -> str:
    """Return a note on letters that no font has; "" if there are none."""
    if not {letter for letter in drawn if letter.isprintable() and ord(letter) not in letters_of_fonts()}:
        return ""
    text = marked("Letters are missing here: no font of this computer has them. The SVG file has them as text.")
    own = tr(text)
    return own if all(ord(letter) in letters_of_fonts() for letter in own) else text


@cache
def fonts(first: str) -> list[str]:
    """Return the names of fonts to draw text with, by preference: one of the screen's, and those of this computer."""
    from matplotlib.font_manager import fontManager, get_font_names

    for path in WEIGHTS:
        fontManager.addfont(path)
    own = ("DejaVu Sans Mono",) if first == MONOSPACE else ()
    return [first, *own, SANS, "DejaVu Sans", *(name for name in OTHER_FONTS if name in get_font_names())]


@cache
def letters_of_fonts() -> frozenset[int]:
    """Return the letters of these fonts."""
    from matplotlib.font_manager import findfont, get_font

    return frozenset(code for name in fonts(SANS) for code in get_font(findfont(name)).get_charmap())


def _draw(element: ElementTree.Element, place: _Place) -> None:
    own = element.attrib
    matrix = place.matrix @ _matrix(own.get("transform", ""))
    place = replace(place, matrix=matrix, opacity=place.opacity * float(own.get("opacity", "1")))
    if name := own.get("clip-path", "").removeprefix("url(#").removesuffix(")"):
        corners = place.points([*_box(place.clips[name].attrib)])
        (left, top), (right, bottom) = corners.min(0), corners.max(0)
        if place.clip is not None:
            left, top = max(left, place.clip[0]), max(top, place.clip[1])
            right, bottom = min(right, place.clip[2]), min(bottom, place.clip[3])
        if left >= right or top >= bottom:
            return
        place = replace(place, clip=(left, top, right, bottom))
    draw = _DRAW.get(_tag(element))
    if draw is not None:
        draw(element, place)
    elif _tag(element) in ("svg", "g"):
        for child in element:
            _draw(child, place)


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _number(own: Attributes, name: str, default: str = "") -> float:
    return float(own.get(name, default)[:DIGITS])


def _matrix(text: str) -> Matrix:
    whole = np.eye(3)
    for name, numbers in _TRANSFORM.findall(text):
        values = [float(each) for each in _NUMBER.findall(numbers)]
        if name == "rotate":
            turn, (x, y) = np.radians(values[0]), values[1:3] or (0.0, 0.0)
            a, b = np.cos(turn), np.sin(turn)
            values = [a, b, -b, a, x - a * x + b * y, y - b * x - a * y]
        elif name == "translate":
            values = [1, 0, 0, 1, values[0], values[1]]
        a, b, c, d, e, f = values
        whole = whole @ np.array([[a, c, e], [b, d, f], [0, 0, 1]])
    return whole


def _color(own: Attributes, name: str, opacity: float, default: str = "none") -> tuple[float, ...] | str:
    """Return red, green, blue and alpha from 0 to 1; "none" for nothing to see."""
    value = own.get(name, default)
    numbers = [float(each) for each in _NUMBER.findall(value)] if value.startswith("rgb(") else []
    if len(numbers) != 3:
        return "none"
    alpha = float(own.get(f"{name}-opacity", "1")) * opacity
    return (*(min(channel / 255, 1.0) for channel in numbers), min(alpha, 1.0)) if alpha > 0 else "none"


def _draw_rect(element: ElementTree.Element, place: _Place) -> None:
    from matplotlib.path import Path

    own = element.attrib
    (left, top), _, (right, bottom), _ = _box(own)
    r = min(_number(own, "rx", "0"), (right - left) / 2, (bottom - top) / 2)
    if r <= 0:
        _patch([*_box(own), (left, top)], [Path.MOVETO, *[Path.LINETO] * 3, Path.CLOSEPOLY], own, place)
        return
    d = (
        f"M{left + r} {top}H{right - r}A{r} {r} 0 0 1 {right} {top + r}V{bottom - r}A{r} {r} 0 0 1 {right - r} {bottom}"
        f"H{left + r}A{r} {r} 0 0 1 {left} {bottom - r}V{top + r}A{r} {r} 0 0 1 {left + r} {top}Z"
    )
    _patch(*outline(d), own, place)


def _box(own: Attributes) -> list[tuple[float, float]]:
    """Return the corners of a rectangle."""
    left, top, width, height = (_number(own, name, "0") for name in ("x", "y", "width", "height"))
    right, bottom = left + width, top + height
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def _draw_ellipse(element: ElementTree.Element, place: _Place) -> None:
    own = element.attrib
    x, y = _number(own, "cx", "0"), _number(own, "cy", "0")
    across, down = (_number(own, name, own.get("r", "")) for name in ("rx", "ry"))
    d = f"M{x - across} {y}A{across} {down} 0 0 1 {x + across} {y}A{across} {down} 0 0 1 {x - across} {y}Z"
    _patch(*outline(d), own, place)


def _patch(vertices: Any, codes: Any, own: Attributes, place: _Place) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    fill, stroke = _color(own, "fill", place.opacity, "rgb(0, 0, 0)"), _color(own, "stroke", place.opacity)
    if not len(vertices) or fill == stroke == "none":
        return
    width = _number(own, "stroke-width", "1") * place.scale
    if own.get("shape-rendering") == "crispEdges" and len(fill) == 4 and fill[3] == 1:
        stroke, width = fill, CLOSED
    dashes = [float(each) * place.scale for each in _NUMBER.findall(own.get("stroke-dasharray", ""))]
    patch = PathPatch(
        Path(place.points(vertices), codes),
        facecolor=fill,
        edgecolor=stroke,
        linewidth=POINT * width if stroke != "none" else 0,
        linestyle=(0, [each / width for each in dashes]) if any(dashes) else "solid",
        capstyle={"round": "round", "square": "projecting"}.get(own.get("stroke-linecap", ""), "butt"),
        joinstyle={"round": "round", "bevel": "bevel"}.get(own.get("stroke-linejoin", ""), "miter"),
        zorder=1,
    )
    place.axes.add_artist(patch)  # `add_patch` takes ten times as long: it looks for the bounds of all of them
    place.add(patch)


def outline(d: str) -> tuple[Any, Any]:
    """Return the vertices and codes of a path.

    Raises:
        ValueError: it is no path of SVG.
    """
    from fontTools.pens.recordingPen import RecordingPen
    from fontTools.svgLib.path import parse_path
    from matplotlib.path import Path

    if _CELLS.fullmatch(d):
        x, y, right, bottom, _ = np.array(_NUMBER.findall(d), dtype=np.float64).reshape(-1, 5).T
        corners = np.stack([np.stack([x, right, right, x, x], 1), np.stack([y, y, bottom, bottom, y], 1)], 2)
        codes = [Path.MOVETO, *[Path.LINETO] * 3, Path.CLOSEPOLY] * len(x)
        return corners.reshape(-1, 2), codes
    pen = RecordingPen()
    try:
        parse_path(d, pen)
    except Exception as error:  # of many kinds
        raise ValueError(f"the SVG has a path that cannot be read: {d[:40]!r}") from error
    kinds = {"moveTo": Path.MOVETO, "lineTo": Path.LINETO, "curveTo": Path.CURVE4, "qCurveTo": Path.CURVE3}
    vertices: list[tuple[float, float]] = []
    codes: list[Any] = []
    start = (0.0, 0.0)
    for name, points in pen.value:
        if name == "closePath":
            vertices.append(start)
            codes.append(Path.CLOSEPOLY)
        elif name in kinds:
            start = points[0] if name == "moveTo" else start
            vertices += points
            codes += [kinds[name]] * len(points)
    return vertices, codes


def _draw_image(element: ElementTree.Element, place: _Place) -> None:
    from PIL import Image

    address = element.get("href", "")
    if not address.startswith(_IMAGE):
        raise ValueError("the SVG has an image that is not within it as PNG")
    with Image.open(io.BytesIO(base64.b64decode(address.removeprefix(_IMAGE))), formats=["PNG"]) as image:
        if image.width * image.height > MOST_PIXELS:
            raise ValueError(f"the SVG has an image of {image.size} pixels, at most {MOST_PIXELS:,} are drawn")
        pixels = np.asarray(image.convert("RGBA"))
    if "pixelated" in element.get("style", "") and pixels.size < MOST_PIXELS // SHARP:
        pixels = pixels.repeat(SHARP, axis=0).repeat(SHARP, axis=1)
    corners = place.points(_box(element.attrib))
    (left, top), (right, bottom) = corners.min(0), corners.max(0)
    drawn = place.axes.imshow(
        pixels, extent=(left, right, bottom, top), interpolation="none", aspect="auto", zorder=1, alpha=place.opacity
    )
    place.add(drawn)


def _draw_text(element: ElementTree.Element, place: _Place) -> None:
    """Draw a line of text as wide as on the screen."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    own = element.attrib
    text = (element.text or "").replace(_BYTE_ORDER_MARK, "").rstrip()
    color = _color(own, "fill", place.opacity)
    if not text.strip() or color == "none":
        return
    font = FontProperties(
        family=fonts(_family(own.get("font-family", ""))),
        size=POINT * _number(own, "font-size", "13") * place.scale,
        weight="bold" if own.get("font-weight", "400") in ("600", "700", "800", "900", "bold") else "normal",
        style="italic" if own.get("font-style") == "italic" else "normal",
    )
    natural = text_to_path.get_text_width_height_descent(text, font, ismath=False)[0] / POINT / place.scale
    wide = _number(own, "textLength", str(natural))
    larger = min(wide / natural, WIDER) if natural else 1.0
    font.set_size(font.get_size_in_points() * larger)
    natural *= larger
    anchor = {"middle": 0.5, "end": 1.0}.get(own.get("text-anchor", ""), 1.0 if own.get("direction") == "rtl" else 0.0)
    x = _number(own, "x", "0") - anchor * wide + (wide - natural) / 2
    y, turn = _number(own, "y", "0"), -float(np.degrees(np.arctan2(place.matrix[1, 0], place.matrix[0, 0])))
    ((right, down),) = place.points([(x, y)])
    drawn = place.axes.text(
        right, down, text, color=color, fontproperties=font, va="baseline", rotation=turn, rotation_mode="anchor",
        parse_math=False, zorder=1,
    )  # fmt: skip
    place.add(drawn)
    for kind, height in {"underline": 0.13, "line-through": -0.27}.items():
        if kind in own.get("text-decoration", ""):
            line = y + height * _number(own, "font-size", "13")
            _patch(*outline(f"M{x} {line}H{x + natural}"), {"stroke": own.get("fill", "")}, place)


def _family(names: str) -> str:
    if "KaTeX" in names:
        return "STIXGeneral"
    return MONOSPACE if "Code" in names.split(",")[0] or names.startswith(("monospace", "ui-monospace")) else SANS


_DRAW: dict[str, Callable[[ElementTree.Element, _Place], None]] = {
    "path": lambda element, place: _patch(*outline(element.get("d", "")), element.attrib, place),
    "rect": _draw_rect,
    "circle": _draw_ellipse,
    "ellipse": _draw_ellipse,
    "image": _draw_image,
    "text": _draw_text,
}
