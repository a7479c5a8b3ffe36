from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from viz_app.drawing.head_grid import contrast, readable_on
from viz_app.drawing.theme import DARK, LIGHT, Theme, head_name, theme_named

# Machado, Oliveira & Fernandes (2009), severity 1, on linear RGB.
COLOR_VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
both = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


def linear(color: str) -> NDArray[np.float64]:
    encoded = np.array([int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)])
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def lab(color: str, vision: str = "normal") -> NDArray[np.float64]:
    x, y, z = XYZ @ np.clip(COLOR_VISION[vision] @ linear(color), 0, 1) / (0.9505, 1.0, 1.089)
    fx, fy, fz = (value ** (1 / 3) if value > 216 / 24389 else (24389 / 27 * value + 16) / 116 for value in (x, y, z))
    return np.array([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])


@both
@pytest.mark.parametrize("vision", COLOR_VISION)
def test_even_steps_of_weight_are_even_steps_of_lightness(theme: Theme, vision: str) -> None:
    steps = np.diff([lab(color, vision)[0] for color in theme.sequential])
    assert np.all(steps < 0) or np.all(steps > 0)
    assert np.abs(steps).max() < 1.5 * np.abs(steps).mean()


@both
def test_a_weight_of_zero_is_the_page(theme: Theme) -> None:
    assert theme.sequential[0] == theme.background
    assert theme.diverging[len(theme.diverging) // 2] == theme.background
    assert tuple(theme.shades(64)[0]) == tuple(
        round(255 * c) for c in [int(theme.background[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    )


@both
def test_differences_of_equal_size_are_equally_far_from_the_page(theme: Theme) -> None:
    lightness = [lab(color)[0] for color in theme.diverging]
    assert np.abs(np.array(lightness) - lightness[::-1]).max() < 6


@both
@pytest.mark.parametrize("vision", COLOR_VISION)
def test_eight_heads_can_be_told_apart(theme: Theme, vision: str) -> None:
    assert len(set(theme.head_colors)) == 8
    assert (
        min(np.linalg.norm(lab(one, vision) - lab(other, vision)) for one, other in combinations(theme.head_colors, 2))
        > 15
    )
    assert min(contrast(color, theme.background) for color in theme.head_colors) >= 3


@both
def test_text_can_be_read(theme: Theme) -> None:
    assert contrast(theme.text, theme.background) > 7
    assert contrast(theme.faint, theme.background) >= 4.5
    for color in (*theme.sequential, *theme.diverging, *theme.head_colors):
        assert contrast(readable_on(color), color) >= 4.5


@both
def test_heads_beyond_eight_have_a_second_mark(theme: Theme) -> None:
    marks = [theme.head_mark(head) for head in range(24)]
    assert len(set(marks)) == 24
    assert [mark.color for mark in marks[:8]] == [mark.color for mark in marks[8:16]] == list(theme.head_colors)


def test_names() -> None:
    assert head_name(4, 2) == "L5 H3"
    assert theme_named("dark") is DARK
    assert theme_named(None) is LIGHT
