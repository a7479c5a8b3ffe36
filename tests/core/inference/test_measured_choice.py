"""The fastest of several ways to compute the same."""

from types import SimpleNamespace

import pytest
import torch

from core.inference.measured_choice import REAL_GAIN, choose, measure


def test_a_reduced_product_is_chosen_for_a_real_gain_only() -> None:
    assert choose({"exact": REAL_GAIN * 1.01, "int8": 1.0, "bfloat16": 2.0}) == "int8"
    assert choose({"exact": REAL_GAIN * 0.99, "int8": 1.0, "bfloat16": 1.0}) == "exact"
    assert choose({"exact": 3.0, "int8": 2.0, "bfloat16": 1.0}) == "bfloat16"
    assert choose({"exact": 1.0}) == "exact"


def test_what_is_measured_is_the_best_call_of_each_but_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("core.inference.measured_choice.time", SimpleNamespace(perf_counter=lambda: clock.now))

    class Timed(torch.nn.Module):
        def __init__(self, *seconds: float) -> None:
            super().__init__()
            self.seconds = iter(seconds)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            clock.now += next(self.seconds)
            return x

    one, other, hopeless = Timed(0.25, 3, 2, 4), Timed(90, 1.5, 1, 7), Timed(1, 7, 8)
    assert measure({"one": one, "other": other, "hopeless": hopeless}, torch.zeros(4)) == {
        "one": 2,
        "other": 1,
        "hopeless": 7,
    }
