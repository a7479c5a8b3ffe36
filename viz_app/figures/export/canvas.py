"""The canvas of exported pictures: matplotlib, with vectors only in SVG and PDF."""

import io
import re
import textwrap
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.analysis.tokens.words import readable
from viz_app.figures.theme import DARK, LIGHT, Theme

if TYPE_CHECKING:  # importing matplotlib takes a third of a second: done on the first export
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Format = Literal["svg", "pdf", "png"]
FORMATS: tuple[Format, ...] = ("svg", "pdf", "png")
DPI = 200
LABEL_POINTS = 12  # points of words, so that they stay readable where a picture is scaled down to a column
SMALL_POINTS = 10  # of everything else; no text is smaller
PITCH = 0.28  # inches from word to word
CHARACTER = 0.112  # inches a character of a label takes, at most
SLIDE = (16, 9)
SLIDE_PIXELS = 1920  # width of a slide as PNG
MIN_SLIDE = 5.0  # inches: a small picture is not enlarged beyond this
MARGIN = 0.02  # of a slide's width
CAPTION = 0.017  # of a slide's width, the size of the caption
CAPTION_CHARACTERS = 96  # of a line of the caption
SHADES = 129  # of a cell; an odd number, so that a difference of 0 has the background colour
BAR_SHADES = 33  # of the colour bar: with more than 50 matplotlib draws it as an image
# Tried in this order for letters missing from DejaVu Sans, which matplotlib includes.
OTHER_FONTS = ("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Emoji")

NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # control characters, in an SVG


_caption: ContextVar[str | None] = ContextVar("caption", default=None)  # of the slide to make


@contextmanager
def slide(caption: str) -> Generator[None]:
    """Make slides of the pictures saved inside the block.

    On a slide, a picture stands alone on 16:9, as large as it fits, with a caption below.
    """
    token = _caption.set(caption)
    try:
        yield
    finally:
        _caption.reset(token)


def check_format(file_format: str) -> None:
    """Raise ValueError unless a format is one of `FORMATS`."""
    if file_format not in FORMATS:
        raise ValueError(f"unknown format {file_format!r}, expected one of {', '.join(FORMATS)}")


def paper(width: float, height: float, theme: Theme) -> tuple["Figure", "Axes"]:
    """Return an empty figure of this size in inches, and its axes."""
    import matplotlib
    from matplotlib.figure import Figure  # not pyplot, which keeps every figure of every thread

    # Text stays text: it can be searched and edited. The same picture is the same bytes.
    matplotlib.rcParams.update(
        {"svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "headlight", "font.family": _fonts()}
    )
    figure = Figure(figsize=(width, height), dpi=DPI, facecolor=theme.background, layout="constrained")
    axes = figure.add_subplot(facecolor=theme.background)
    return figure, axes


def saved(figure: "Figure", file_format: Format) -> bytes:
    """Return the figure as a file without a date: equal figures are equal bytes."""
    from matplotlib.text import Text

    dpi: float = DPI
    if (caption := _caption.get()) is not None:
        dpi = SLIDE_PIXELS / _make_slide(figure, caption)
    for text in figure.findobj(Text):
        text.set_text(NOT_IN_XML.sub("\ufffd", text.get_text()))
    file = io.BytesIO()
    no_date = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[file_format]
    figure.savefig(file, format=file_format, metadata=no_date, dpi=dpi)
    return file.getvalue()


def _make_slide(figure: "Figure", caption: str) -> float:
    """Put the drawing of a figure on a slide, in its own size.

    The paper grows, so that the text of the drawing stays as large as it fits.

    Returns:
        The width of the slide in inches.
    """
    from matplotlib.colors import to_hex
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    lines = textwrap.wrap(caption, CAPTION_CHARACTERS) or [""]
    width, height = figure.get_size_inches()
    ratio = SLIDE[1] / SLIDE[0]
    below = MARGIN + 1.5 * CAPTION * len(lines)  # of the slide's width, as all of these
    free = ratio - 2 * MARGIN - below
    slide_width = max(MIN_SLIDE, width / (1 - 2 * MARGIN), height / free)
    share = width / slide_width, height / slide_width / ratio
    x, y = (1 - share[0]) / 2, (below + MARGIN + (free - height / slide_width) / 2) / ratio
    figure.set_size_inches(slide_width, slide_width * ratio)
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(rect=(x, y, *share))
    else:
        for axes in figure.axes:
            place = axes.get_position()
            axes.set_position(
                (x + place.x0 * share[0], y + place.y0 * share[1], place.width * share[0], place.height * share[1])
            )
    theme = DARK if to_hex(figure.get_facecolor()) == DARK.background else LIGHT
    figure.text(
        0.5,
        below / ratio,
        "\n".join(lines),
        ha="center",
        va="top",
        color=theme.text,
        fontsize=72 * CAPTION * slide_width,
        linespacing=1.4,
        parse_math=False,
    )
    return slide_width


def cells(axes: "Axes", values: NDArray[Any], colors: "Sequence[str]", low: float, high: float) -> None:
    """Draw a matrix as coloured rectangles, the first row on top.

    Rectangles rather than an image stay sharp at any size. All cells of one shade are one path, for small files.

    Args:
        values: [rows, columns]; NaN cells stay empty.
        colors: A scale from `low` to `high`, evenly spaced.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    rows, columns = values.shape
    scale = LinearSegmentedColormap.from_list("cells", colors, N=SHADES)
    with np.errstate(invalid="ignore"):
        shades = np.clip(np.rint((values - low) / (high - low) * (SHADES - 1)), 0, SHADES - 1)
    shades = np.where(np.isfinite(values), shades, -1).astype(int)
    corners: dict[int, list[tuple[float, float, float]]] = {}
    for row, line in enumerate(shades):
        starts = [0, *(np.flatnonzero(np.diff(line)) + 1).tolist(), columns]
        for start, stop in pairwise(starts):
            corners.setdefault(int(line[start]), []).append((row - 0.5, start - 0.5, stop - 0.5))
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    for shade, runs in sorted(corners.items()):
        if shade >= 0:
            points = [
                (x, y)
                for top, left, right in runs
                for x, y in ((left, top), (right, top), (right, top + 1), (left, top + 1), (left, top))
            ]
            # The thin stroke closes the gaps that viewers show between neighbours.
            axes.add_patch(
                PathPatch(
                    Path(points, codes * len(runs)), facecolor=scale(shade), edgecolor=scale(shade), linewidth=0.15
                )
            )
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)


def color_scale(
    figure: "Figure", axes: "Axes", colors: "Sequence[str]", low: float, high: float, title: str, theme: Theme
) -> None:
    """Draw a small colour bar below the axes."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    mappable = ScalarMappable(Normalize(low, high), LinearSegmentedColormap.from_list("bar", colors, N=BAR_SHADES))
    ticks = [low, (low + high) / 2, high]
    bar = figure.colorbar(
        mappable, ax=axes, location="bottom", shrink=0.4, aspect=25, pad=0.03, ticks=ticks, anchor=(0.0, 1.0)
    )
    bar.outline.set_visible(False)  # type: ignore[operator]  (a spine, though declared otherwise)
    bar.ax.tick_params(length=0, labelsize=SMALL_POINTS, labelcolor=theme.faint)
    bar.ax.set_xlabel(title, fontsize=SMALL_POINTS, color=theme.faint, parse_math=False)


def short(token: str, most: int = 24) -> str:
    """Return a token as a label, cut if it is too long."""
    return cut(readable(token), most)


def cut(text: str, most: int = 24) -> str:
    """Return a text, with an ellipsis if it is too long."""
    return text if len(text) <= most else text[: most - 1] + "\u2026"


def inches(labels: "Sequence[str]") -> float:
    """Return the largest possible width of these labels in inches."""
    return max(map(len, labels), default=0) * CHARACTER + 0.3


@cache
def _fonts() -> list[str]:
    from matplotlib.font_manager import get_font_names

    return ["DejaVu Sans", *(name for name in OTHER_FONTS if name in get_font_names())]
