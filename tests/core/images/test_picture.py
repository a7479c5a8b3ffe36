"""Untrusted picture files, and the ink of a picture."""

import io
import random
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from PIL import Image

from core.files.budget import MAX_PICTURE_BYTES
from core.images.patches import Pixels
from core.images.picture import PictureError, decode_png, ink, line_image
from core.images.rendering import Style, render


def png(image: Image.Image, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG", **options)
    return file.getvalue()


def header_of(width: int, height: int) -> bytes:
    """A PNG file that declares a size, and has no pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b""))
    )


GREY = render("Some text", Style())


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "P", "LA", "I;16", "1"])
def test_all_kinds_of_png_are_decoded(mode: str) -> None:
    grey = np.where(GREY > 127, 255, 0).astype(np.uint8)
    image = Image.fromarray(grey.astype(np.uint16) * 257) if mode == "I;16" else Image.fromarray(grey).convert(mode)
    assert image.mode == mode
    assert (decode_png(png(image)) == grey).all()


def test_transparent_parts_are_paper() -> None:
    image = Image.new("RGBA", (6, 4), (0, 0, 0, 0))
    image.putpixel((2, 1), (0, 0, 0, 255))
    decoded = decode_png(png(image))
    assert decoded[1, 2] == 0
    assert decoded.sum() == 255 * 23


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not a PNG picture: save it as PNG"),
        (b"GIF89a" + bytes(100), "is not a PNG picture"),
        (bytes(MAX_PICTURE_BYTES + 1), r"has 4,194,305 bytes, at most 4,194,304 are read: give a smaller picture"),
        (header_of(2**31 - 1, 2**31 - 1), "pixels, at most 4,000,000 are read: cut out one line|is damaged"),
        (header_of(3000, 2000), "has 3000 x 2000 pixels, at most 4,000,000 are read: cut out one line of text"),
        (header_of(30, 20), "is damaged or not supported .*: save the picture again"),
        (png(Image.fromarray(GREY))[:80], "is damaged or not supported"),
    ],
)
def test_unusable_files_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(PictureError, match=message):
        decode_png(data)


def test_other_formats_are_refused() -> None:
    """Only one decoder is exposed to untrusted files."""
    for kind in ("JPEG", "GIF", "BMP", "TIFF", "WEBP"):
        file = io.BytesIO()
        Image.fromarray(GREY).save(file, kind)
        with pytest.raises(PictureError, match=r"^the file is not a PNG picture: save it as PNG$"):
            decode_png(file.getvalue())


def test_random_damage_ends_in_pixels_or_a_picture_error() -> None:
    whole, draw = png(Image.fromarray(GREY)), random.Random(1)
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 8)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        try:
            decoded = decode_png(bytes(data))
        except PictureError:
            continue
        assert decoded.ndim == 2
        assert decoded.dtype == np.uint8


def test_ink_is_the_distance_from_the_paper() -> None:
    grey = np.full((4, 10), 200, np.uint8)
    grey[1, 2:4] = 100, 150
    expected = np.zeros((4, 10), np.uint8)
    expected[1, 2:4] = 255, 128
    assert (ink(grey) == expected).all()


def test_ink_does_not_depend_on_paper_and_contrast() -> None:
    grey = render("Some text", Style()).astype(int)
    assert (ink(grey) == ink(255 - grey)).all()
    assert np.abs(ink(grey // 2 + 20).astype(int) - ink(grey)).max() <= 2


def test_pictures_are_scaled_to_the_height_of_a_line() -> None:
    grey = np.kron(GREY, np.ones((3, 3), np.uint8))
    scaled = line_image(grey, 24).astype(int)
    assert scaled.shape == GREY.shape
    assert np.abs(scaled - ink(GREY)).mean() < 12
    assert (line_image(GREY, 24) == ink(GREY)).all()


@pytest.mark.parametrize(
    ("grey", "height", "message"),
    [
        (np.array([[200, 200, 200, 190]], np.uint8), 1, "is blank: its pixels differ from the paper by at most 10 of"),
        (np.zeros((10, 700), np.uint8), 24, "has 700 x 10 pixels, it may be at most 64 times as wide as"),
        # a model of pictures 1,000 pixels high, and a line that is 64 times as wide
        (np.zeros((10, 640), np.uint8), 1000, "height of this model, 1000 pixels, the picture would be 64000 pixels"),
    ],
)
def test_what_is_no_line_is_refused(grey: Pixels, height: int, message: str) -> None:
    with pytest.raises(PictureError, match=message):
        line_image(grey, height)
