"""Learning rate schedule of section 5.3, with an optional cooldown for short runs."""


def learning_rate(step: float, d_model: int, warmup: int) -> float:
    """d_model^-0.5 * min(step^-0.5, step * warmup^-1.5) (5.3), for steps counted from 1.

    Linear increase for `warmup` steps, to (d_model * warmup)^-0.5, then decrease with the inverse square root of the
    step.
    """
    if step < 1:
        raise ValueError(f"step ({step}) must be at least 1: steps are counted from 1")
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


WARMUP_SHARE, COOLDOWN_SHARE = 0.1, 0.25  # of the time of a run with a time limit


def warmed_step(step: int, warmup: int, minutes: float, limit: float) -> float:
    """Step that the rate of a run with a time limit is computed for: the warm-up ends after a tenth of the time.

    The peak stays the same. Steps are counted from 1; `minutes` of `limit` have passed.
    """
    return max(step, warmup * min(1.0, minutes / (WARMUP_SHARE * limit)))


def minutes_factor(minutes_left: float, cooldown_minutes: float) -> float:
    """Factor that decreases linearly to 0 over the last minutes of a run with a time limit, as `cooldown_factor`."""
    return min(1.0, max(0.0, minutes_left) / cooldown_minutes) if cooldown_minutes else 1.0


def cooldown_factor(step: int, last_step: int, cooldown: int) -> float:
    """Factor of the learning rate that decreases linearly to 0 over the last `cooldown` steps, as if one more came.

    Not in the paper: for short runs it replaces checkpoint averaging (Hägele et al. 2024). Steps are counted from 1.
    """
    return min(1.0, (last_step + 1 - step) / (cooldown + 1))
