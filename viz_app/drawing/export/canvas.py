"""The canvas of exported pictures: matplotlib, with vectors only in SVG and PDF."""

import io
import re
import textwrap
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import NDArray

from core.analysis.tokens.words import readable
from viz_app.drawing.fonts import FAMILY, WEIGHTS
from viz_app.drawing.fonts.embedding import with_font
from viz_app.drawing.theme import DARK, LIGHT, TEXT, WORDS, Theme, points
from viz_app.language import in_symbols, marked, tr

if TYPE_CHECKING:  # importing matplotlib takes a third of a second: done on the first export
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text
    from matplotlib.ticker import Formatter

Format = Literal["svg", "pdf", "png"]
FORMATS: tuple[Format, ...] = ("svg", "pdf", "png")
DPI = 200
LABEL_POINTS = points(WORDS)  # of words, so that they stay readable where a picture is scaled down to a column
SMALL_POINTS = points(TEXT)  # of everything else; no text is smaller
PITCH = 0.28  # inches from word to word
CHARACTER = 0.112  # inches a character of a label takes, at most
SLIDE = (16, 9)
SLIDE_PIXELS = 1920  # width of a slide as PNG
MIN_SLIDE = 5.0  # inches: a small picture is not enlarged beyond this
MARGIN = 0.02  # of a slide's width
CAPTION = 0.017  # of a slide's width, the size of the caption
CAPTION_CHARACTERS = 96  # of a line of the caption
SHADES = 129  # of a cell; an odd number, so that a difference of 0 has the background colour
EMPTY, MASKED = -1, -2  # in place of a shade
HATCH = "////"  # of masked cells
BAR_SHADES = 33  # of the colour bar: with more than 50 matplotlib draws it as an image
WIDE = 1.8  # widths of such a character that a Chinese or Korean letter takes
NOTE = 0.18  # inches of a line of the note below a picture
# Of Linux, Windows and macOS, tried in this order for letters missing from the font of the screen and from DejaVu Sans,
# which matplotlib includes.
OTHER_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK KR", "Noto Sans CJK JP", "Noto Sans SC", "Noto Sans KR", "WenQuanYi Zen Hei",
    "NanumGothic", "Droid Sans Fallback", "Microsoft YaHei", "Malgun Gothic", "PingFang SC", "Hiragino Sans GB",
    "Apple SD Gothic Neo", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Emoji",
)  # fmt: skip

NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # control characters, in an SVG
BYTE_ORDER_MARK = "\ufeff"  # nothing to see; matplotlib 3.11 cannot write it into a PDF file


_caption: ContextVar[str | None] = ContextVar("caption", default=None)  # of the slide to make


@contextmanager
def slide(caption: str) -> Generator[None]:
    """Make slides of the pictures saved inside the block: a picture on 16:9, as large as it fits, above a caption."""
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
        {
            "svg.fonttype": "none",
            "pdf.fonttype": 42,
            "svg.hashsalt": "headlight",
            "font.family": [*fonts(), "sans-serif"],  # the last for viewers of SVG files, which have other fonts
        }
    )
    figure = Figure(figsize=(width, height), dpi=DPI, facecolor=theme.background, layout="constrained")
    axes = figure.add_subplot(facecolor=theme.background)
    return figure, axes


def saved(figure: "Figure", file_format: Format) -> bytes:
    """Return the figure as a file without a date, so that equal figures are equal bytes.

    If no font has some of its letters, the picture says so; in SVG files they are text, for the viewer's fonts.
    """
    from matplotlib.text import Text
    from matplotlib.ticker import FuncFormatter, ScalarFormatter

    dpi: float = DPI
    for text in figure.findobj(Text):
        text.set_text(_drawable(text.get_text()))
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            names = axis.get_major_formatter()
            if isinstance(names, FuncFormatter):  # made into texts once more when they are drawn
                axis.set_major_formatter(FuncFormatter(partial(_drawable_name, names)))
            elif isinstance(names, ScalarFormatter):
                names.format_ticks = partial(_own_numbers, names.format_ticks)  # type: ignore[method-assign]
    caption = _caption.get()
    caption = caption and _drawable(caption)
    drawn = "".join(text.get_text() for text in figure.findobj(Text)) + (caption or "")
    note = "" if file_format == "svg" else missing_note(drawn)
    if caption is not None:
        dpi = SLIDE_PIXELS / _make_slide(figure, caption, note)
    elif note:
        _add_note(figure, note)
    file = io.BytesIO()
    no_date = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[file_format]
    figure.savefig(file, format=file_format, metadata=no_date, dpi=dpi)
    return with_font(file.getvalue(), _letters(figure)) if file_format == "svg" else file.getvalue()


def _letters(figure: "Figure") -> dict[bool, str]:
    """Return all letters of a figure that was drawn, those in bold by True."""
    from matplotlib.text import Text

    texts = [text for text in figure.findobj(Text) if isinstance(text, Text) and text.get_visible()]
    return {
        is_bold: "".join(sorted({*"".join(text.get_text() for text in texts if _is_bold(text) == is_bold)}))
        for is_bold in (False, True)
    }


def _is_bold(text: "Text") -> bool:
    return text.get_fontweight() in ("bold", 700)


def _drawable(text: str) -> str:
    """Return a text of characters that every format may have.

    Byte order marks are left out, and characters that no SVG may have are replaced.
    """
    return NOT_IN_XML.sub("\ufffd", text.replace(BYTE_ORDER_MARK, ""))


def _own_numbers(format_ticks: "Callable[[list[float]], list[str]]", values: list[float]) -> list[str]:
    """Write the numbers of an axis as in the visitor's language."""
    return [in_symbols(name) for name in format_ticks(values)]


def _drawable_name(names: "Formatter", place: float, number: int | None = None) -> str:
    return _drawable(names(place, number))


def missing_note(drawn: str) -> str:
    """Return a note on letters that no font has; "" if there are none."""
    missing = {letter for letter in drawn if letter.isprintable() and ord(letter) not in letters_of_fonts()}
    if not missing:
        return ""
    text = marked("Letters are missing here: no font of this computer has them. The SVG file has them as text.")
    own = tr(text)
    return own if all(ord(letter) in letters_of_fonts() for letter in own) else text


def _add_note(figure: "Figure", note: str) -> None:
    """Write a note below the drawing; the paper grows."""
    width, height = figure.get_size_inches()
    lines = wrapped(note, max(10, int(width / CHARACTER)))
    below = NOTE * (len(lines) + 0.5)
    figure.set_size_inches(width, height + below)
    share = below / (height + below)
    _move_into(figure, (0, share, 1, 1 - share))
    theme = _theme_of(figure)
    figure.text(
        0.02, share / 2, "\n".join(lines), va="center", color=theme.faint, fontsize=SMALL_POINTS, parse_math=False
    )


def _move_into(figure: "Figure", rect: tuple[float, float, float, float]) -> None:
    """Move the drawing into a part of the paper, given by left, bottom, width and height as shares."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    x, y, width, height = rect
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        engine.set(rect=rect)
        return
    for axes in figure.axes:
        place = axes.get_position()
        axes.set_position((x + place.x0 * width, y + place.y0 * height, place.width * width, place.height * height))


def _theme_of(figure: "Figure") -> Theme:
    from matplotlib.colors import to_hex

    return DARK if to_hex(figure.get_facecolor()) == DARK.background else LIGHT


def _make_slide(figure: "Figure", caption: str, note: str) -> float:
    """Put the drawing of a figure on a slide, in its own size; the paper grows, so that its text stays as large as
    possible.

    Returns:
        The width of the slide in inches.
    """
    lines = [*wrapped(caption, CAPTION_CHARACTERS), *wrapped(note, CAPTION_CHARACTERS)] or [""]
    width, height = figure.get_size_inches()
    ratio = SLIDE[1] / SLIDE[0]
    below = MARGIN + 1.5 * CAPTION * len(lines)  # of the slide's width, as all of these
    free = ratio - 2 * MARGIN - below
    slide_width = max(MIN_SLIDE, width / (1 - 2 * MARGIN), height / free)
    share = width / slide_width, height / slide_width / ratio
    x, y = (1 - share[0]) / 2, (below + MARGIN + (free - height / slide_width) / 2) / ratio
    figure.set_size_inches(slide_width, slide_width * ratio)
    _move_into(figure, (x, y, *share))
    theme = _theme_of(figure)
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


def cells(
    axes: "Axes",
    values: NDArray[Any],
    colors: "Sequence[str]",
    low: float,
    high: float,
    masked: NDArray[np.bool_] | None = None,
    theme: Theme = LIGHT,
) -> None:
    """Draw a matrix as coloured rectangles, the first row on top.

    Rectangles rather than an image stay sharp at any size. All cells of one shade are one path, for small files.

    Args:
        values: [rows, columns]; NaN cells stay empty. Without rows or columns nothing is drawn.
        colors: A scale from `low` to `high`, evenly spaced.
        masked: [rows, columns], cells to hatch.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    rows, columns = values.shape
    if not values.size:
        return
    scale = LinearSegmentedColormap.from_list("cells", colors, N=SHADES)
    with np.errstate(invalid="ignore"):
        shares = (values / 2 - low / 2) / (high / 2 - low / 2)  # halves do not overflow
        shades = np.rint(np.clip(shares, 0, 1) * (SHADES - 1))
    shades = np.where(np.isfinite(values), shades, EMPTY).astype(int)
    if masked is not None:
        shades = np.where(masked, MASKED, shades)
    corners: dict[int, list[tuple[float, float, float]]] = {}
    for row, line in enumerate(shades):
        starts = [0, *(np.flatnonzero(np.diff(line)) + 1).tolist(), columns]
        for start, stop in pairwise(starts):
            corners.setdefault(int(line[start]), []).append((row - 0.5, start - 0.5, stop - 0.5))
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    for shade, runs in sorted(corners.items()):
        if shade != EMPTY:
            corner_points = [
                (x, y)
                for top, left, right in runs
                for x, y in ((left, top), (right, top), (right, top + 1), (left, top + 1), (left, top))
            ]
            # The thin stroke closes the gaps that viewers show between neighbours.
            style: dict[str, Any] = {"facecolor": scale(shade), "edgecolor": scale(shade), "linewidth": 0.15}
            if shade == MASKED:
                style = {"facecolor": theme.background, "edgecolor": theme.hairline, "linewidth": 0, "hatch": HATCH}
            axes.add_patch(PathPatch(Path(corner_points, codes * len(runs)), **style))
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)


def color_scale(
    figure: "Figure", axes: "Axes", colors: "Sequence[str]", low: float, high: float, title: str, theme: Theme
) -> None:
    """Draw a small colour bar below the axes."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    mappable = ScalarMappable(Normalize(low, high), LinearSegmentedColormap.from_list("bar", colors, N=BAR_SHADES))
    ticks = [low, low / 2 + high / 2, high]
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
    return max(map(letters, labels), default=0) * CHARACTER + 0.3


def letters(text: str) -> float:
    """Return the width of a text in characters; Chinese and Korean letters are wide."""
    return sum(WIDE if east_asian_width(letter) in "WF" else 1 for letter in text)


def wrapped(text: str, most: int) -> list[str]:
    """Return the lines of a text, at most as wide as `most` characters."""
    return textwrap.wrap(text, max(1, int(most * len(text) / letters(text)))) if text else []


@cache
def fonts() -> list[str]:
    """Return the names of the fonts that pictures are drawn with, in the order of preference: that of the screen, and
    those of this computer.
    """
    from matplotlib.font_manager import fontManager, get_font_names

    for path in WEIGHTS:
        fontManager.addfont(path)
    return [FAMILY, "DejaVu Sans", *(name for name in OTHER_FONTS if name in get_font_names())]


@cache
def letters_of_fonts() -> frozenset[int]:
    """Return the letters of these fonts."""
    from matplotlib.font_manager import findfont, get_font

    return frozenset(code for name in fonts() for code in get_font(findfont(name)).get_charmap())
