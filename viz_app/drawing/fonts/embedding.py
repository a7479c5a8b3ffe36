"""The font of a picture within its SVG file, cut down to the letters that it has: a few kilobytes."""

import base64
import io
from collections.abc import Mapping
from functools import lru_cache

from viz_app.drawing.fonts import BOLD, FAMILY, REGULAR

FIRST_STYLE = b'<style type="text/css">'  # of the files that matplotlib writes


def with_font(svg: bytes, letters: Mapping[bool, str]) -> bytes:
    """Add the font to an SVG file of matplotlib.

    Args:
        letters: those that are drawn in bold, by True, and the others.
    """
    drawn = {is_bold: "".join(sorted(set(letters[is_bold]))) for is_bold in sorted(letters)}
    faces = "".join(_face(each, is_bold) for is_bold, each in drawn.items() if each.strip())
    return svg.replace(FIRST_STYLE, FIRST_STYLE + faces.encode(), 1)


@lru_cache(maxsize=64)  # to cut a font takes a third of the time of a file; the numbers of axes are the same letters
def _face(letters: str, is_bold: bool) -> str:
    from fontTools import subset
    from fontTools.ttLib import TTFont

    file = io.BytesIO()
    with TTFont(BOLD if is_bold else REGULAR, recalcTimestamp=False, lazy=True) as font:
        subsetter = subset.Subsetter(subset.Options(layout_features=["kern", "mark"], hinting=False))
        subsetter.populate(text=letters)
        subsetter.subset(font)
        font.flavor = "woff"
        font.save(file)
    data = base64.b64encode(file.getvalue()).decode()
    weight = "bold" if is_bold else "normal"
    return f'@font-face{{font-family:"{FAMILY}";font-weight:{weight};src:url(data:font/woff;base64,{data})}}'
