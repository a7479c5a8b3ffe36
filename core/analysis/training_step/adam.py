"""The first step of Adam (5.3), with all its numbers."""

from typing import NamedTuple

from torch import Tensor

from core.model.training import ADAM_BETAS, ADAM_EPS


class AdamNumbers(NamedTuple):
    """The first step of Adam (5.3), for one weight or for all of a parameter; see `first_adam_step`."""

    gradient: Tensor
    moment: Tensor
    square: Tensor
    corrected_moment: Tensor
    corrected_square: Tensor
    change: Tensor


def first_adam_step(gradient: Tensor, rate: float) -> AdamNumbers:
    """Kingma & Ba 2015, algorithm 1, with t = 1 and moments of 0 before.

    m = b1 * 0 + (1 - b1) g, v = b2 * 0 + (1 - b2) g^2, corrected by 1 - b1^t and 1 - b2^t; the weight changes by
    -rate m^ / (sqrt(v^) + epsilon). The gradient has any shape.
    """
    beta1, beta2 = ADAM_BETAS
    moment, square = (1 - beta1) * gradient, (1 - beta2) * gradient.square()
    corrected_moment, corrected_square = moment / (1 - beta1), square / (1 - beta2)
    change = -rate * corrected_moment / (corrected_square.sqrt() + ADAM_EPS)
    return AdamNumbers(gradient, moment, square, corrected_moment, corrected_square, change)
