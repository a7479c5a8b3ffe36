"""The learning rate of section 5.3."""


def learning_rate(step: int, d_model: int, warmup: int) -> float:
    """d_model^-0.5 * min(step^-0.5, step * warmup^-1.5): up in a line for `warmup` steps, then down with the root of the step.

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
