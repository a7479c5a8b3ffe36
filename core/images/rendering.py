"""Lines of text as pictures, in the fonts that come with Matplotlib.

DejaVu (a Bitstream Vera licence), Computer Modern (BaKoMa licence) and STIX (SIL Open Font License) may be used for any
pictures; their licences are beside them in Matplotlib.
"""

import string
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from core.files.extras import needs
from core.images.patches import Pixels

with needs("pictures", "drawing a line of text"):
    import matplotlib as mpl
    from PIL import Image, ImageDraw, ImageFilter, ImageFont

LINE_HEIGHT = 24  # pixels of a rendered line
BASELINE = 17  # pixels from its top
TRAINING_FONTS = (
    *(f"DejaVuSans{style}" for style in ("", "-Bold", "-Oblique", "-BoldOblique")),
    *(f"DejaVuSansMono{style}" for style in ("", "-Bold", "-Oblique")),
    *(f"DejaVuSerif{style}" for style in ("", "-Bold", "-Italic")),
    *("cmr10", "cmb10", "cmss10", "cmtt10"),
)
HELD_OUT_FONTS = ("STIXGeneral",)  # no font of this family is trained on
FONTS = (*TRAINING_FONTS, *HELD_OUT_FONTS)
CHARACTERS = f" {string.ascii_letters}{string.digits}.,:;!?()-+='\"/&%#@*$€§ÄÖÜäöüß"
# Computer Modern has other signs elsewhere
COMMON_CHARACTERS = f" {string.ascii_letters}{string.digits}.,:;!?()-+=/&%"
MAX_TEXT = 80  # characters of a rendered line


@dataclass(frozen=True, kw_only=True)
class Style:
    """The look of a rendered line."""

    font: str = "DejaVuSans"  # one of `FONTS`
    size: int = 16  # of the em, in pixels
    left: int = 4  # margin in pixels, as `right`
    right: int = 4
    down: int = 0  # pixels that the line is below its usual place
    slant: float = 0.0  # horizontal shift by vertical distance from the baseline; positive leans to the right
    blur: float = 0.0  # radius in pixels
    ink: float = 1.0  # darkness of the text, from 0 (as the paper) to 1
    noise: float = 0.0  # standard deviation of normal noise, of a range of 1
    seed: int = 0  # of the noise


def characters_of(font: str) -> str:
    """Characters of `CHARACTERS` that a font has."""
    return COMMON_CHARACTERS if font.startswith("cm") else CHARACTERS


def random_style(random: np.random.Generator, fonts: tuple[str, ...]) -> Style:
    """Draw a style: half of the lines are clean, the others have blur, noise, pale ink and a slant."""
    style = Style(
        font=str(random.choice(fonts)),
        size=int(random.integers(14, 19)),
        left=int(random.integers(0, 12)),
        right=int(random.integers(0, 12)),
        down=int(random.integers(-1, 2)),
    )
    if random.random() < 0.5:
        return style
    return replace(
        style,
        slant=float(random.uniform(-0.15, 0.25)),
        blur=float(random.uniform(0, 0.8)),
        ink=float(random.uniform(0.4, 1)),
        noise=float(random.uniform(0, 0.08)),
        seed=int(random.integers(2**31)),
    )


def render(text: str, style: Style) -> Pixels:
    """Draw one line of text: grey values [LINE_HEIGHT, width], dark on white.

    Raises:
        ValueError: the text is blank or too long, the font is unknown, or it lacks a character.
    """
    if not text.strip():
        raise ValueError("there is nothing to draw: the text is empty or only white space")
    if len(text) > MAX_TEXT:
        raise ValueError(f"the text has {len(text)} characters, a line has at most {MAX_TEXT}: shorten it")
    if style.font not in FONTS:
        raise ValueError(f"font ({style.font!r}) must be one of {', '.join(FONTS)}")
    if missing := sorted(set(text) - set(characters_of(style.font))):
        raise ValueError(
            f"{style.font} has no {' '.join(map(repr, missing))}: use the space and {characters_of(style.font).strip()}"
        )
    font = _font(style.font, style.size)
    lean = abs(style.slant) * LINE_HEIGHT
    width = max(1, round(style.left + font.getlength(text) + lean + style.right))
    image = Image.new("L", (width, LINE_HEIGHT), 255)
    baseline = BASELINE + style.down
    ImageDraw.Draw(image).text((style.left, baseline), text, fill=round(255 * (1 - style.ink)), font=font, anchor="ls")
    if style.slant:
        shear = (1, style.slant, -style.slant * baseline, 0, 1, 0)
        image = image.transform(
            image.size, Image.Transform.AFFINE, shear, resample=Image.Resampling.BILINEAR, fillcolor=255
        )
    if style.blur:
        image = image.filter(ImageFilter.GaussianBlur(style.blur))
    if not style.noise:
        return np.asarray(image)
    noise = np.random.default_rng(style.seed).normal(scale=255 * style.noise, size=(LINE_HEIGHT, width))
    return np.round(np.asarray(image) + noise).clip(0, 255).astype(np.uint8)


@cache
def _font(name: str, size: int) -> ImageFont.FreeTypeFont:
    path = Path(mpl.get_data_path(), "fonts", "ttf", f"{name}.ttf")
    return ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.BASIC)
