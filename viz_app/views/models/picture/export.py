"""A picture once for every character read from it, as a file.

It is tinted by the attention of that character.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.images.patches import Pixels
from viz_app.drawing.display_text import decimal
from viz_app.drawing.export.canvas import (
    LABEL_POINTS,
    Format,
    check_format,
    color_scale,
    paper,
    saved,
)
from viz_app.drawing.theme import LIGHT, Theme
from viz_app.language import tr
from viz_app.views.models.picture.figures import CharacterAttention, tinted_picture

INCHES = 0.026  # of a pixel of the picture
GAP = 5  # pixels between two pictures
MIN_WIDTH = 140  # pixels, for the colour scale below
LABELS, SCALE = 0.9, 0.6  # inches: of the labels, and of the colour scale


def export_pictures(
    image: Pixels, characters: Sequence[CharacterAttention], patch_size: int, file_format: Format, theme: Theme = LIGHT
) -> bytes:
    """Draw the picture for each character, the first on top, with its probability.

    The picture consists of pixels, so it is a bitmap in SVG and PDF too; text and lines are vectors.

    Raises:
        ValueError: the format is not one of `FORMATS`.
    """
    check_format(file_format)
    tinted = [tinted_picture(image, each.weights, patch_size, theme) for each in characters]
    height, width = tinted[0].shape[:2]
    room = max(width, MIN_WIDTH)
    figure, axes = paper(room * INCHES + LABELS, (height + GAP) * len(tinted) * INCHES + SCALE, theme)
    tops = (height + GAP) * np.arange(len(tinted))
    # One bitmap of all pictures and one collection of all lines: each takes matplotlib about as long as a single one.
    bitmap = np.concatenate([np.pad(each, ((0, GAP), (0, 0), (0, 0))) for each in tinted])
    opaque = np.tile(np.arange(height + GAP) < height, len(tinted))  # the gaps between the pictures are not
    alpha = np.where(opaque, 255, 0).astype(np.uint8)[:, None, None].repeat(width, 1)
    axes.imshow(
        np.concatenate([bitmap, alpha], -1), extent=(0, width, len(bitmap), 0), interpolation="nearest", zorder=2
    )
    lines: dict[str, Any] = {"color": theme.faint, "linewidth": 0.4, "alpha": 0.3, "zorder": 3}
    columns, rows = np.arange(0, width + 1, patch_size), np.arange(0, height + 1, patch_size)
    axes.vlines(np.tile(columns, len(tops)), tops.repeat(len(columns)), (tops + height).repeat(len(columns)), **lines)
    axes.hlines((tops[:, None] + rows).ravel(), 0, width, **lines)
    axes.set_xlim(-0.5, room + 0.5)
    axes.set_ylim(tops[-1] + height + 0.5, -0.5)
    axes.set_aspect("equal")
    axes.set_xticks([])
    labels = [f"{each.character}  {decimal(each.probability, 2)}" for each in characters]
    axes.set_yticks([top + height / 2 for top in tops])
    for text in axes.set_yticklabels(labels, fontsize=LABEL_POINTS, color=theme.text):
        text.set_parse_math(False)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    color_scale(figure, axes, list(theme.sequential), 0, 1, tr("attention weight of a patch"), theme)
    return saved(figure, file_format)
