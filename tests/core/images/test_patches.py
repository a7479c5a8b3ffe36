"""Images as patches, and back."""

import numpy as np
import pytest

from core.images.patches import from_patches, patch_name, to_patches


def image(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(height * width).integers(0, 256, (height, width), dtype=np.uint8)


@pytest.mark.parametrize(("size", "rows", "width"), [(8, 3, 40), (4, 1, 8), (2, 5, 6)])
def test_patches_make_the_image_again(size: int, rows: int, width: int) -> None:
    original = image(size * rows, width)
    assert (from_patches(to_patches(original, size), size, rows) == original).all()


def test_patches_are_squares_in_the_order_of_columns() -> None:
    original = image(24, 40)
    patches = to_patches(original, 8)
    expected = [original[y : y + 8, x : x + 8].flatten() for x in range(0, 40, 8) for y in range(0, 24, 8)]
    assert (patches == np.stack(expected)).all()
    assert [patch_name(index, 3) for index in range(5)] == ["1.1", "1.2", "1.3", "2.1", "2.2"]


def test_a_wider_image_begins_with_the_same_patches() -> None:
    original = image(24, 37)
    padded = np.pad(original, ((0, 0), (0, 3)))
    assert (to_patches(original, 8) == to_patches(padded, 8)).all()
    assert (to_patches(image(24, 40)[:, :16], 8) == to_patches(image(24, 40), 8)[:6]).all()


@pytest.mark.parametrize("shape", [(23, 40), (0, 8), (8, 0)])
def test_images_of_another_height_are_refused(shape: tuple[int, int]) -> None:
    message = rf"^the image has {shape[1]} x {shape[0]} pixels, expected a height that is a multiple of 8$"
    with pytest.raises(ValueError, match=message):
        to_patches(np.zeros(shape, np.uint8), 8)
