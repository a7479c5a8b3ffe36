"""Selection of the weights that are drawn as lines."""

import torch
from torch import Tensor

MIN_WEIGHT = 0.02  # fainter lines are invisible, and there are many


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
