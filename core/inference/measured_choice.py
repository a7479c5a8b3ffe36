"""The fastest of several ways to compute the same, by a short measurement."""

import math
import time
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

REAL_GAIN = 1.15  # least speed-up over the exact product that is worth the loss of precision
MEASURED_CALLS, MEASURED_SECONDS = 3, 0.02  # of all products together: whichever is more
HOPELESS = 4  # slower than the fastest by this factor: not called again


@torch.inference_mode()
def measure(products: Mapping[str, Callable[[Tensor], Tensor]], x: Tensor) -> dict[str, float]:
    """Seconds of each product, the minimum over several calls, in turns, so that other work affects all alike."""
    for product in products.values():
        product(x)  # warm-up
    seconds = dict.fromkeys(products, math.inf)
    start, calls = time.perf_counter(), 0
    while calls < MEASURED_CALLS or time.perf_counter() < start + MEASURED_SECONDS:
        for name, product in products.items():
            if calls >= 2 and seconds[name] > HOPELESS * min(seconds.values()):
                continue
            began = time.perf_counter()
            product(x)
            seconds[name] = min(seconds[name], time.perf_counter() - began)
        calls += 1
    return seconds


def choose(seconds: dict[str, float]) -> str:
    """The fastest product, or the first, which is exact, if the gain is small."""
    exact = next(iter(seconds))
    fastest = min(seconds, key=lambda name: seconds[name])
    return fastest if seconds[exact] >= REAL_GAIN * seconds[fastest] else exact
