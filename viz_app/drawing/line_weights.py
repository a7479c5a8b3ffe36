"""Selection of the weights that are drawn as lines, and how a line shows a weight."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from viz_app.language import localized, tr

MIN_WEIGHT = 0.02  # smaller weights are many
POINT = 0.75  # of a pixel
FULL_INK = 5.0  # pixels, of a line of weight 1; this and the rest as in line_style.js
MOST_OPACITY = 0.85
SMALL_WEIGHT = 0.05
DASHES: dict[str, tuple[float, ...]] = {"solid": (), "dash": (6, 4), "dot": (2, 3)}  # pixels


class LineStyle(NamedTuple):
    """How a line shows a weight: width and dashes in pixels."""

    width: float
    opacity: float
    dash: tuple[float, ...] = ()

    @property
    def for_matplotlib(self) -> dict[str, Any]:
        """Arguments of a line; its dashes are in multiples of its width."""
        dash = (0, tuple(each / self.width for each in self.dash)) if self.dash else "solid"
        return {"alpha": self.opacity, "linewidth": POINT * self.width, "linestyle": dash}


DOTS = LineStyle(1.5, 0.5, (1.5, 4.5))


def line_style(weight: float, dash: str = "solid") -> LineStyle:
    """Return how a line shows a weight, as `lineStyle` of `core/drawing/line_style.js`, which says why.

    Args:
        weight: From -1 to 1; the sign does not count.
        dash: A key of `DASHES`, of a line that is not of dots.
    """
    size = min(abs(weight), 1.0)
    if size < SMALL_WEIGHT:
        return DOTS
    width = max(FULL_INK * size / MOST_OPACITY, 1.0)
    return LineStyle(width, FULL_INK * size / width, DASHES[dash])


def line_collection(weights: Sequence[float], color: str, dash: str) -> dict[str, Any]:
    """Return the arguments of a collection of lines in Matplotlib, one for each weight."""
    styles = [line_style(weight, dash).for_matplotlib for weight in weights]
    names = {"alpha": "alpha", "linewidth": "linewidths", "linestyle": "linestyles"}
    return {"edgecolors": color, **{many: [style[one] for style in styles] for one, many in names.items()}}


def dots_note() -> str:
    """Say in a legend what a line of dots means."""
    return tr("dots: below {weight}", weight=localized(SMALL_WEIGHT, ".2f"))


def has_line(weights: Tensor, min_weight: float = MIN_WEIGHT, top_mass: float | None = None) -> Tensor:
    """Select the weights of one head that get a line.

    Args:
        weights: [Q, K].
        min_weight: Smaller weights get none; 0 never does.
        top_mass: Of each row the largest weights until they reach this share of its sum, such as 0.9.

    Returns:
        [Q, K], bool.

    Raises:
        ValueError: `min_weight` or `top_mass` is not between 0 and 1.
    """
    check_share("min_weight", min_weight)
    check_share("top_mass", top_mass)
    keep = (weights >= min_weight) & (weights > 0)
    if top_mass is not None:
        ordered, order = weights.sort(dim=1, descending=True)
        larger = ordered.cumsum(1) - ordered  # the sum of all larger weights
        keep &= torch.zeros_like(keep).scatter(1, order, larger < top_mass * weights.sum(1, keepdim=True))
    return keep


def check_share(name: str, value: float | None) -> None:
    """Raise ValueError unless a value is between 0 and 1, or None."""
    if value is not None and not 0 <= value <= 1:
        raise ValueError(f"{name} ({value}) must be between 0 and 1")
