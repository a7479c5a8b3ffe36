"""Rendered lines of text."""

from dataclasses import replace

import numpy as np
import pytest

from core.images.picture import ink
from core.images.rendering import (
    CHARACTERS,
    FONTS,
    HELD_OUT_FONTS,
    LINE_HEIGHT,
    TRAINING_FONTS,
    Style,
    characters_of,
    random_style,
    render,
)


@pytest.mark.parametrize("font", FONTS)
def test_every_font_draws_its_characters_differently(font: str) -> None:
    """No two are alike, so none of them is the box that stands for a missing character."""
    drawn = {render(f"x{character}x", Style(font=font, size=18)).tobytes() for character in characters_of(font)}
    assert len(drawn) == len(characters_of(font))


def test_fonts_of_the_test_are_of_another_family() -> None:
    assert not any(font.startswith(held_out[:4]) for font in TRAINING_FONTS for held_out in HELD_OUT_FONTS)


def test_a_line_shows_the_whole_text_within_its_height() -> None:
    for size in (13, 18):
        drawn = ink(render("ÄÖÜgjpqy", Style(size=size)))
        assert drawn.shape[0] == LINE_HEIGHT
        rows, columns = np.flatnonzero(drawn.max(1)), np.flatnonzero(drawn.max(0))
        assert rows[0] > 0
        assert rows[-1] < LINE_HEIGHT - 1
        assert columns[0] >= 3
        assert columns[-1] < drawn.shape[1] - 2


def test_styles_change_what_they_say() -> None:
    plain = render("Hello", Style())
    lower = render("Hello", Style(down=2))
    assert (lower[2:] == plain[:-2]).all()
    assert render("Hello", Style(ink=0.5)).min() == 128
    assert render("Hello", Style(left=9)).shape[1] == plain.shape[1] + 5
    noisy = Style(noise=0.05, seed=1)
    assert (render("Hello", noisy) == render("Hello", noisy)).all()
    assert (render("Hello", noisy) != render("Hello", replace(noisy, seed=2))).any()

    def middle(grey: np.ndarray) -> float:
        return float(np.flatnonzero((255 - grey).max(0)).mean())

    leaning = render("I", Style(slant=0.3, left=10, right=10))
    assert middle(leaning[:10]) > middle(leaning[12:17]) + 1  # the upper part is to the right


def test_random_styles_are_decided_by_the_seed() -> None:
    styles = [[random_style(np.random.default_rng(seed), FONTS) for _ in range(3)] for seed in (1, 1, 2)]
    assert styles[0] == styles[1] != styles[2]


@pytest.mark.parametrize(
    ("text", "style", "message"),
    [
        (" ", Style(), "^there is nothing to draw: the text is empty or only white space$"),
        ("a" * 81, Style(), "^the text has 81 characters, a line has at most 80: shorten it$"),
        ("a", Style(font="Arial"), r"^font \('Arial'\) must be one of DejaVuSans, "),
        ("a中", Style(), "^DejaVuSans has no '中': use the space and abc"),
        ("Ö", Style(font="cmr10"), "^cmr10 has no 'Ö': use the space and abc"),
    ],
)
def test_what_cannot_be_drawn_is_refused(text: str, style: Style, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        render(text, style)


def test_the_vocabulary_has_no_character_twice() -> None:
    assert len(set(CHARACTERS)) == len(CHARACTERS)
