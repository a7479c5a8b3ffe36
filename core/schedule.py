"""Learning rate schedule of section 5.3, with an optional cooldown for short runs."""


def learning_rate(step: int, d_model: int, warmup: int) -> float:
    """d_model^-0.5 * min(step^-0.5, step * warmup^-1.5) (5.3).

    Linear increase for `warmup` steps, then decrease with the inverse square root of the step.

    Args:
        step: counted from 1.
        d_model: width of the model.
        warmup: steps until the peak, which is (d_model * warmup)^-0.5.

    Raises:
        ValueError: `step` is below 1.
    """
    if step < 1:
        raise ValueError(f"step ({step}) must be at least 1: steps are counted from 1")
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def cooldown_factor(step: int, last_step: int, cooldown: int) -> float:
    """Factor that decreases linearly to 0 over the last `cooldown` steps.

    Multiplies the learning rate. Not in the paper: for short runs it replaces checkpoint averaging (Hägele et al.
    2024).

    Args:
        step: counted from 1.
        last_step: last step of the run; the rate would reach 0 one step later.
        cooldown: number of steps, 0 for none.
    """
    return min(1.0, (last_step + 1 - step) / (cooldown + 1))
