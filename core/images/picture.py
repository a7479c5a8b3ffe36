"""Untrusted picture files of one line of text, and their ink, which is the input of a model."""

import io

import numpy as np
from numpy.typing import NDArray

from core.files.budget import MAX_ASPECT, MAX_PICTURE_BYTES, MAX_PIXELS
from core.files.extras import needs
from core.images.patches import Pixels

with needs("pictures", "reading a picture"):
    from PIL import Image, UnidentifiedImageError

MIN_CONTRAST = 16  # of 255, between paper and ink


class PictureError(ValueError):
    """The picture cannot be read; the message has the reason and what to do."""


def decode_png(data: bytes) -> Pixels:
    """Decode an untrusted PNG file to grey values: [height, width], 0 is black.

    Sizes are checked before pixels are decoded. Transparent parts become white; an animation is its first frame.

    Raises:
        PictureError: the file is not a PNG, is damaged, or is too large.
    """
    if len(data) > MAX_PICTURE_BYTES:
        raise PictureError(
            f"the file has {len(data):,} bytes, at most {MAX_PICTURE_BYTES:,} are read: give a smaller picture"
        )
    try:
        with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise PictureError(
                    f"the picture has {width} x {height} pixels, at most {MAX_PIXELS:,} are read: cut out one line of "
                    f"text"
                )
            image.load()
            if image.mode.startswith("I"):  # 16 bits of grey, which Pillow would clip to 8
                return (np.asarray(image).clip(0, 65535) // 257).astype(np.uint8)
            paper = Image.new("RGBA", image.size, "white")
            return np.asarray(Image.alpha_composite(paper, image.convert("RGBA")).convert("L"))
    except UnidentifiedImageError as error:
        raise PictureError("the file is not a PNG picture: save it as PNG") from error
    # whatever else Pillow raises for a damaged file
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        if isinstance(error, PictureError):
            raise
        raise PictureError(f"the PNG file is damaged or not supported ({error}): save the picture again") from error


def ink(grey: NDArray[np.number]) -> Pixels:
    """Distance of each pixel from the paper, whose grey is the median, stretched so that the largest is 255.

    Dark text on a light ground and light text on a dark one give the same ink.

    Raises:
        PictureError: nothing stands out from the paper.
    """
    values = np.asarray(grey, dtype=np.float32)
    distance = np.abs(values - np.median(values))
    largest = float(distance.max(initial=0))
    if largest < MIN_CONTRAST:
        raise PictureError(
            f"the picture is blank: its pixels differ from the paper by at most {largest:.0f} of 255, a line of text "
            f"differs by {MIN_CONTRAST} or more"
        )
    return np.round(distance * (255 / largest)).astype(np.uint8)


def line_image(grey: Pixels, height: int) -> Pixels:
    """Ink of a line of text, scaled to `height` pixels: [height, width].

    Raises:
        PictureError: the picture is blank, or too long for one line.
    """
    rows, columns = grey.shape
    if columns > MAX_ASPECT * rows:
        raise PictureError(
            f"the picture has {columns} x {rows} pixels, it may be at most {MAX_ASPECT} times as wide as it is high: "
            f"cut out a shorter piece of the line"
        )
    if rows != height:
        size = (max(1, round(columns * height / rows)), height)
        if size[0] * height > MAX_PIXELS:
            raise PictureError(
                f"at the height of this model, {height} pixels, the picture would be {size[0]} pixels wide, at most "
                f"{MAX_PIXELS // height} can be read: cut out a shorter piece of the line"
            )
        grey = np.asarray(Image.fromarray(grey).resize(size, Image.Resampling.BICUBIC))  # antialiased
    return ink(grey)
