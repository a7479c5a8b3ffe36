"""Learning rate schedule of section 5.3, and what short runs put in the place of its end."""

from typing import Literal

ScheduleName = Literal["inverse_sqrt", "constant"]


def learning_rate(step: float, d_model: int, warmup: float, schedule: ScheduleName = "inverse_sqrt") -> float:
    """d_model^-0.5 * min(step^-0.5, step * warmup^-1.5) (5.3), for steps counted from 1.

    Linear increase for `warmup` steps, to (d_model * warmup)^-0.5, then decrease with the inverse square root of the
    step. If constant, it stays there, for a cooldown to end it (Hägele et al. 2024).
    """
    if step < 1:
        raise ValueError(f"step ({step}) must be at least 1: steps are counted from 1")
    if schedule == "constant":
        step = min(step, warmup)
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


WARMUP_SHARE, COOLDOWN_SHARE = 0.1, 0.25  # of the time of a run with a time limit


def fitted_warmup(step: int, warmup: int, minutes: float, limit: float) -> float:
    """Steps of warm-up of a run with a time limit: those of the first tenth at the pace so far, at most `warmup`.

    `step` steps, counted from 1, took `minutes` of `limit`.
    """
    return min(warmup, WARMUP_SHARE * limit * step / minutes) if minutes else warmup


def fitted_scale(fitted: float, warmup: int) -> float:
    """Factor of the rate that belongs to a shorter warm-up, after which a high rate makes the model diverge.

    `learning_rate` raises the peak by the root of warmup / fitted; this lowers it, by the root below that of `warmup`.
    """
    return fitted / warmup


def minutes_factor(minutes_left: float, cooldown_minutes: float) -> float:
    """Factor that decreases linearly to 0 over the last minutes of a run with a time limit, as `cooldown_factor`."""
    return min(1.0, max(0.0, minutes_left) / cooldown_minutes) if cooldown_minutes else 1.0


def cooldown_factor(step: int, last_step: int, cooldown: int) -> float:
    """Factor of the learning rate that decreases linearly to 0 over the last `cooldown` steps, as if one more came.

    Not in the paper: for short runs it replaces checkpoint averaging (Hägele et al. 2024). Steps are counted from 1.
    """
    return min(1.0, (last_step + 1 - step) / (cooldown + 1))
