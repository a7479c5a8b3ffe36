"""A translation token by token, coloured by the model's uncertainty, as SVG, PDF or PNG."""

import math
from collections.abc import Sequence

from core.analysis.tokens.words import readable
from viz_app.drawing.export.canvas import Format
from viz_app.drawing.export.token_boxes import Box, export_tokens
from viz_app.drawing.theme import LIGHT, Theme
from viz_app.language import localized, tr

UNSURE = "#e69f00"
STRONGEST = 0.6  # share of that colour behind a token that had no probability at all


def export_steps(tokens: Sequence[str], log_probs: Sequence[float], file_format: Format, theme: Theme = LIGHT) -> bytes:
    """Draw each token with its probability below.

    Raises:
        ValueError: The format is not one of `FORMATS`.
    """
    probabilities = [math.exp(log_prob) for log_prob in log_probs]
    boxes = [
        Box(readable(token), _mixed(theme.background, STRONGEST * (1 - probability)), localized(probability, ".2f"))
        for token, probability in zip(tokens, probabilities, strict=True)
    ]
    return export_tokens(boxes, file_format, theme, title=tr("probability of each token"))


def _mixed(background: str, share: float) -> str:
    channels = [(int(background[start : start + 2], 16), int(UNSURE[start : start + 2], 16)) for start in (1, 3, 5)]
    return "#" + "".join(f"{round(under + (over - under) * min(1.0, max(0.0, share))):02x}" for under, over in channels)
