"""Write the fonts of PDF files from those of Streamlit: python -m viz_app.server.fonts. It needs `brotli`."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fontTools import subset
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer

from viz_app.server.fonts import MONOSPACE, SANS, WEIGHTS

SOURCES = {SANS: "SourceSansVF-Upright*.woff2", MONOSPACE: "SourceCodeVF-Upright*.woff2"}
FEATURES = ["ccmp", "kern", "mark", "mkmk"]  # what matplotlib's layout of text uses
COPYRIGHT, LICENCE, LICENCE_ADDRESS = 0, 13, 14  # names that are kept


def main() -> None:
    """Write a file for each family and weight."""
    for path, (family, weight) in WEIGHTS.items():
        font: Any = TTFont(source(family))
        options = subset.Options(
            layout_features=FEATURES, hinting=False, name_IDs=[COPYRIGHT, LICENCE, LICENCE_ADDRESS]
        )
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=list(font.getBestCmap()))
        subsetter.subset(font)
        font.flavor = None  # not compressed
        font = instancer.instantiateVariableFont(font, {"wght": weight})
        style = path.stem.partition("-")[2]
        font["OS/2"].usWeightClass = 700 if style == "Bold" else 400
        for number, text in {1: family, 2: style, 3: path.stem, 4: f"{family} {style}", 6: path.stem}.items():
            font["name"].setName(text, number, 3, 1, 0x409)
        font.save(path)


def source(family: str) -> Path:
    """Return the file of the installed Streamlit.

    Raises:
        FileNotFoundError: this version of Streamlit has no such file.
    """
    spec = find_spec("streamlit")
    media = Path(spec.origin if spec and spec.origin else ".").parent / "static/static/media"
    found = next(media.glob(SOURCES[family]), None)
    if found is None:
        raise FileNotFoundError(f"{media} has no {SOURCES[family]}: see which font the app shows now")
    return found


if __name__ == "__main__":
    main()
