"""Write the fonts of exported pictures from that of Streamlit: python -m viz_app.drawing.fonts. It needs `brotli`."""

import io
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fontTools import subset
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer

from viz_app.drawing.fonts import BOLD, FAMILY, WEIGHTS

FEATURES = ["ccmp", "kern", "mark", "mkmk"]  # what matplotlib's layout of text uses
COPYRIGHT, LICENCE, LICENCE_ADDRESS = 0, 13, 14  # names that are kept


def main() -> None:
    """Write a file for each weight."""
    whole: Any = TTFont(source())
    options = subset.Options(layout_features=FEATURES, hinting=False, name_IDs=[COPYRIGHT, LICENCE, LICENCE_ADDRESS])
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=list(whole.getBestCmap()))
    subsetter.subset(whole)
    file = io.BytesIO()
    whole.flavor = None  # not compressed
    whole.save(file)
    for path, weight in WEIGHTS.items():
        font: Any = instancer.instantiateVariableFont(TTFont(io.BytesIO(file.getvalue())), {"wght": weight})
        style = "Bold" if path == BOLD else "Regular"
        font["OS/2"].usWeightClass = 700 if path == BOLD else 400
        for number, text in {1: FAMILY, 2: style, 3: path.stem, 4: f"{FAMILY} {style}", 6: path.stem}.items():
            font["name"].setName(text, number, 3, 1, 0x409)
        font.save(path)


def source() -> Path:
    """Return the file of the installed Streamlit.

    Raises:
        FileNotFoundError: this version of Streamlit has no such file.
    """
    spec = find_spec("streamlit")
    media = Path(spec.origin if spec and spec.origin else ".").parent / "static/static/media"
    found = next(media.glob("SourceSansVF-Upright*.woff2"), None)
    if found is None:
        raise FileNotFoundError(f"{media} has no SourceSansVF-Upright*.woff2: see which font the app shows now")
    return found


if __name__ == "__main__":
    main()
