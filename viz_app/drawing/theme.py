"""Colours, fonts and sizes of type of all drawings, for light and dark pages."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Dash = Literal["solid", "dash", "dot"]
DASHES: tuple[Dash, ...] = ("solid", "dash", "dot")
SHADES = 33  # stops of a colour scale; between them the browser mixes

INTERFACE_FONT = '"Source Sans", "Source Sans 3", system-ui, "DejaVu Sans", sans-serif'
MONOSPACE_FONT = '"Source Code Pro", ui-monospace, "DejaVu Sans Mono", monospace'


# Pixels: the five sizes of type of all drawings, as in core/drawing/sizes.css. There is no other, and none is smaller.
SMALL, NOTE, TEXT, WORDS, LARGE = 12, 13, 14, 16, 21


@dataclass(frozen=True, kw_only=True)
class HeadMark:
    """Colour of one head, and beyond eight heads also a dash pattern."""

    color: str
    dash: Dash


@dataclass(frozen=True, kw_only=True)
class Theme:
    """Colours and fonts of a page."""

    name: Literal["light", "dark"]
    background: str  # of the page, and of a weight of 0
    text: str
    faint: str
    hairline: str
    # colours of the weights 0 to 1, evenly spaced; lightness falls (light) or rises (dark) in even steps
    sequential: tuple[str, ...]
    diverging: tuple[str, ...]  # colours of differences from -1 to 1; the middle one is the background
    head_colors: tuple[str, ...]  # of heads 0 to 7, then repeated
    interface_font: str = INTERFACE_FONT
    monospace_font: str = MONOSPACE_FONT

    def head_mark(self, head: int) -> HeadMark:
        """Return the mark of a head, counted from 0, the same on every page and in every layer."""
        count = len(self.head_colors)
        return HeadMark(color=self.head_colors[head % count], dash=DASHES[head // count % len(DASHES)])

    def plotly_scale(self, diverging: bool = False) -> list[tuple[float, str]]:
        """Return a scale as Plotly's `colorscale`."""
        colors = self.diverging if diverging else self.sequential
        return [(index / (len(colors) - 1), color) for index, color in enumerate(colors)]

    def shades(self, count: int) -> NDArray[np.uint8]:
        """Return the sequential scale at `count` even steps from 0 to 1: [count, 3] red, green, blue."""
        stops = np.array([[*bytes.fromhex(color[1:])] for color in self.sequential], dtype=np.float64)
        places = np.linspace(0, len(stops) - 1, count)
        return (
            np.stack([np.interp(places, np.arange(len(stops)), stops[:, channel]) for channel in range(3)], 1)
            .round()
            .astype(np.uint8)
        )


def head_name(layer: int, head: int) -> str:
    """`L5 H3`: counted from 1 for people, from 0 in code."""
    return f"L{layer + 1} H{head + 1}"


def theme_named(name: str | None) -> Theme:
    """Return `DARK` for "dark", `LIGHT` for anything else."""
    return DARK if name == "dark" else LIGHT


def _oklch(lightness: float, chroma: float, hue: float) -> str:
    """Convert OKLCH (Ottosson 2020), which is perceptually even, to #rrggbb."""
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    encoded = (
        12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055 for c in (min(max(c, 0.0), 1.0) for c in linear)
    )
    return "#" + "".join(f"{round(255 * c):02x}" for c in encoded)


def _ramp(
    background: str, lightness: tuple[float, float], chroma: tuple[float, float], hue: tuple[float, float]
) -> tuple[str, ...]:
    """Return a scale that starts at the background.

    Lightness and hue change in even steps; chroma rises to its first value at 0.6, then goes to its second.
    """

    def at(t: float) -> str:
        return _oklch(
            float(np.interp(t, (0, 1), lightness)),
            float(np.interp(t, (0, 0.6, 1), (0, *chroma))),
            float(np.interp(t, (0, 1), hue)),
        )

    return (background, *(at(float(t)) for t in np.linspace(0, 1, SHADES)[1:]))


def _two_sided(
    background: str, lightness: tuple[float, float], chroma: float, hues: tuple[float, float]
) -> tuple[str, ...]:
    """Return a diverging scale: blue below, orange above, of equal lightness."""

    def side(hue: float) -> list[str]:
        return [
            _oklch(float(np.interp(t, (0, 1), lightness)), chroma * float(t), hue)
            for t in np.linspace(0, 1, SHADES // 2 + 1)[1:]
        ]

    return (*reversed(side(hues[0])), background, *side(hues[1]))


# Okabe & Ito (2008). On a dark page white takes the place of black; on a light page ochre, azure and Tol's wine take
# those of orange, sky blue and yellow, whose contrast with white is below 3 : 1. Simulated for protanopia, deuteranopia
# and tritanopia the eight stay at least 16 apart in CIELAB.
_BLUE_TO_PURPLE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")

LIGHT = Theme(
    name="light",
    background="#ffffff",
    text="#1f2328",
    faint="#6b7077",
    hairline="#dcdcd6",
    sequential=_ramp("#ffffff", (1.0, 0.27), (0.135, 0.085), (240.0, 278.0)),
    diverging=_two_sided("#ffffff", (1.0, 0.45), 0.13, (255.0, 50.0)),
    head_colors=(*_BLUE_TO_PURPLE, "#ac8e49", "#0095f9", "#000000", "#882255"),
)
DARK = Theme(
    name="dark",
    background="#14171b",
    text="#e6e6e1",
    faint="#8b929b",
    hairline="#353b43",
    sequential=_ramp("#14171b", (0.205, 0.97), (0.125, 0.03), (264.0, 205.0)),
    diverging=_two_sided("#14171b", (0.205, 0.78), 0.12, (250.0, 60.0)),
    head_colors=(*_BLUE_TO_PURPLE, "#e69f00", "#56b4e9", "#f2f2f2", "#f0e442"),
)
