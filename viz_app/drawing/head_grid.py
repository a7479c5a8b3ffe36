"""Small maps of all heads of all layers, as one picture."""

import base64
import io
from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from core.capture import AttentionMap
from core.drawing.drawing_data import MAX_CELL, reduced, shown_weights
from viz_app.drawing.theme import Theme

CELL_PIXELS = 96  # short sentences are enlarged to about this size, or the browser blurs them
SHADES = 64  # more are indistinguishable in a cell, and larger
MASKED = SHADES  # the index of what is transparent


def grid_picture(maps: Sequence[AttentionMap], theme: Theme) -> str:
    """Return one small map for each head as a PNG data URL, with a row for each layer and a column for each head.

    Colours run from 0 to 1; masked cells are transparent, for a hatching behind them. All maps, of the layers of one
    kind, have the same size and touch each other; layers may differ in their number of heads.

    Raises:
        ValueError: there are no maps, or their sizes differ.
    """
    if not maps:
        raise ValueError("no attention maps to draw: pass one for each layer")
    sizes = {tuple(attention.weights.shape[1:]) for attention in maps}
    if len(sizes) > 1:
        raise ValueError(
            f"the maps have different sizes ({', '.join(f'{q} x {k}' for q, k in sorted(sizes))}): pass the layers of "
            f"one sentence and kind"
        )
    tile = _tile(maps, max(attention.num_heads for attention in maps))
    return _png(tile.tobytes(), tile.shape, theme.shades(SHADES).tobytes())


def _tile(maps: Sequence[AttentionMap], columns: int) -> NDArray[np.uint8]:
    """Return all maps as shade indices from 0 to SHADES - 1, or MASKED; 0 where there is no head."""
    queries, keys = (min(size, MAX_CELL) for size in maps[0].weights.shape[1:])
    height, width = (size * max(1, CELL_PIXELS // size) for size in (queries, keys))
    tile = np.zeros((len(maps) * height, columns * width), dtype=np.uint8)
    for row, attention in enumerate(maps):
        weights = reduced(reduced(shown_weights(attention).clamp(0, 1).numpy(), 1), 2)  # [H, queries, keys]
        shades = np.where(np.isnan(weights), MASKED, np.nan_to_num(weights) * (SHADES - 1)).round().astype(np.uint8)
        for head, shade in enumerate(shades):
            top, left = row * height, head * width
            tile[top : top + height, left : left + width] = shade.repeat(height // queries, 0).repeat(width // keys, 1)
    return tile


@lru_cache(maxsize=16)  # a click on a head draws the same grid again
def _png(tile: bytes, shape: tuple[int, ...], shades: bytes) -> str:
    image = Image.fromarray(np.frombuffer(tile, dtype=np.uint8).reshape(shape))
    image.putpalette(shades + bytes(3))
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=3, transparency=MASKED)  # a third larger than at 6, in half the time
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


@cache  # a grid has some hundred cells in the 33 colours of a scale
def readable_on(color: str) -> str:
    """Return black or white, whichever has the higher contrast on a colour."""
    return max("#000000", "#ffffff", key=lambda ink: contrast(ink, color))


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21 (WCAG 2)."""

    def luminance(color: str) -> float:
        channels = (channel / 255 for channel in bytes.fromhex(color[1:]))
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)
