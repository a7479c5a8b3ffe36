"""Images as sequences of square patches, and back (Dosovitskiy et al. 2021, 3.1).

Patches are in the order of their columns, from the left, each from top to bottom, so that the position of a patch does
not depend on the width of the image, and padding a sequence on the right pads the image on the right.
"""

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]


def to_patches(image: Pixels, size: int) -> Pixels:
    """Cut an image into patches: [height, width] -> [S, size * size].

    A patch is flattened row by row. An image whose width is not a multiple of `size` is padded with zeros.

    Raises:
        ValueError: the image is empty, or its height is not a multiple of `size`.
    """
    height, width = image.shape
    if not width or not height or height % size:
        raise ValueError(f"the image has {width} x {height} pixels, expected a height that is a multiple of {size}")
    image = np.pad(image, ((0, 0), (0, -width % size)))
    blocks = image.reshape(height // size, size, -1, size)  # [rows, size, columns, size]
    return blocks.transpose(2, 0, 1, 3).reshape(-1, size * size)


def from_patches(patches: Pixels, size: int, rows: int) -> Pixels:
    """Inverse of `to_patches`: [S, size * size] -> [rows * size, columns * size]."""
    blocks = patches.reshape(-1, rows, size, size)  # [columns, rows, size, size]
    return blocks.transpose(1, 2, 0, 3).reshape(rows * size, -1)


def patch_name(index: int, rows: int) -> str:
    """Name of a patch: `column.row`, counted from 1."""
    return f"{index // rows + 1}.{index % rows + 1}"
