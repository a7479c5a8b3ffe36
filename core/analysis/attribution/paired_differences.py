"""Paired differences of measurements on the same examples: interval, test, and a correction for several tests."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

LEVEL = 0.05  # probability of an error of the first kind; intervals have a level of 1 - LEVEL


@dataclass(frozen=True)
class PairedDifference:
    """Mean difference of two measurements, example by example (Student 1908)."""

    mean: float  # of the differences
    low: float  # of a 95 % confidence interval of the mean; minus infinity for one example
    high: float  # of it; infinity for one example
    p_value: float  # of the two-sided paired t-test of no difference; 1 for one example


def paired_difference(first: Sequence[float], second: Sequence[float]) -> PairedDifference:
    """Compare two measurements of the same examples: first minus second.

    Raises:
        ValueError: they are not of equally many examples, or of none.
    """
    if len(first) != len(second) or not first:
        raise ValueError(f"pairs are of equally many examples, found {len(first)} and {len(second)}")
    differences = [one - other for one, other in zip(first, second, strict=True)]
    mean, freedom = fmean(differences), len(differences) - 1
    if not freedom:
        return PairedDifference(mean, -math.inf, math.inf, 1.0)
    error = standard_error(differences)
    half = t_quantile(1 - LEVEL, freedom) * error
    p_value = 1 - within_t(abs(mean) / error, freedom) if error else float(mean == 0)
    return PairedDifference(mean, mean - half, mean + half, p_value)


def standard_error(values: Sequence[float]) -> float:
    """Standard error of a mean; NaN for one value."""
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values of several tests (Holm 1979).

    With them, the chance of any false rejection is at most the level. The k-th smallest of m is multiplied by
    m + 1 - k; none is smaller than one before it.
    """
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def within_t(t: float, freedom: int) -> float:
    """Probability that Student's t is in [-t, t], by the finite sums of Abramowitz & Stegun 1964, 26.7.3-4."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = freedom % 2
    term, total = (math.cos(angle) if odd else 1.0), 0.0
    for power in range(odd, freedom - 1, 2):
        total += term
        term *= square * (power + 1) / (power + 2)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def t_quantile(probability: float, freedom: int) -> float:
    """The t for which Student's t is between -t and t with a given probability."""
    low, high = 0.0, 1.0
    while within_t(high, freedom) < probability:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if within_t(middle, freedom) < probability else (low, middle)
    return high
