"""Agreement of two computations of the same numbers, up to rounding; a model that disagrees is refused."""

import math

import torch
from torch import Tensor

from core.model.config import TransformerConfig

ROUNDING = 2.0**-15  # of a sub-layer in float32, relative: sums of some thousand products and a norm, with room


class DisagreementError(ValueError):
    """The model computes something else than the analysis of it."""


def rounding(depth: int, magnitude: float = 1.0) -> float:
    """Largest difference between two computations in float32 that rounding explains.

    Args:
        depth: number of sub-layers, one after the other, between what both have in common and their results.
        magnitude: of the numbers, or of the terms that are summed.
    """
    return ROUNDING * depth * magnitude


def depth_of(config: TransformerConfig) -> int:
    """Number of sub-layers between a source token and a logit, with the output matrix."""
    return 2 * config.num_encoder_layers + 3 * config.num_decoder_layers + 1


def require_agreement(
    what: str, computed: Tensor | float, of_model: Tensor | float, depth: int, magnitude: float | None = None
) -> float:
    """Check that numbers of an analysis are those of the model's own pass.

    Args:
        what: name of the numbers.
        depth, magnitude: as for `rounding`; by default the largest of the model's numbers, at least 1.

    Returns:
        The largest difference.

    Raises:
        DisagreementError: it is more than rounding, or not a number.
    """
    ours, theirs = (
        torch.as_tensor(each, dtype=torch.float64, device="cpu").detach().flatten() for each in (computed, of_model)
    )
    if not len(theirs):
        return 0.0
    differences = (ours - theirs).abs()
    worst = int(differences.argmax())
    allowed = rounding(depth, max(1.0, float(theirs.abs().max())) if magnitude is None else magnitude)
    if not float(differences[worst]) <= allowed < math.inf:
        raise DisagreementError(
            f"{what}: the analysis computes {ours[worst]:.6g}, the model {theirs[worst]:.6g}, expected a difference of "
            f"{allowed:.1g} at most, by rounding. The analysis assumes the layers of the paper or their variants in "
            f"TransformerConfig: undo what else was changed in core/model, or choose another analysis"
        )
    return float(differences[worst])
