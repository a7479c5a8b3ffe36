"""The learning rate of section 5.3, and an end to it for runs that are too short to wait for its root."""


def learning_rate(step: int, d_model: int, warmup: int) -> float:
    """d_model^-0.5 * min(step^-0.5, step * warmup^-1.5): up in a line for `warmup` steps, then down with the root of
    the step.

    Args:
        step: counted from 1.
        d_model: the model's width.
        warmup: steps until the peak, which is (d_model * warmup)^-0.5.

    Raises:
        ValueError: `step` is below 1.
    """
    if step < 1:
        raise ValueError(f"step ({step}) must be at least 1: steps are counted from 1")
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def cooldown_factor(step: int, last_step: int, cooldown: int) -> float:
    """What the rate is multiplied with so that over the last `cooldown` steps it falls in a line towards 0.

    Not in the paper: a short run gains from it what averaging many snapshots gives a long one (Hägele et al. 2024).

    Args:
        step: counted from 1.
        last_step: the run's last; the rate would be 0 one step later.
        cooldown: 0 for none.
    """
    return min(1.0, (last_step + 1 - step) / (cooldown + 1))
