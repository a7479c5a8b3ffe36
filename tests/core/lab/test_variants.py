"""Parts of the paper taken away: what is changed, and nothing else."""

import inspect
import math
import re
from functools import reduce

import pytest

from core import paper
from core.lab.tasks import TASKS
from core.lab.training import Training
from core.lab.variants import VARIANTS, Settings, Variant, built


def parts_of(module: object) -> dict[str, object]:
    """The code of all functions of the paper's file, by their names in it."""
    functions = [name for name, _ in inspect.getmembers(paper, inspect.isfunction)]
    classes = [name for name, each in inspect.getmembers(paper, inspect.isclass) if each.__module__ == paper.__name__]
    names = [*functions, *(f"{name}.{method}" for name in classes for method in vars(getattr(paper, name)))]
    found = {name: reduce(getattr, name.split("."), module) for name in names}
    return {name: inspect.unwrap(part).__code__ for name, part in found.items() if inspect.isroutine(part)}


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_module_and_diff_have_what_is_replaced_and_nothing_else(variant: Variant) -> None:
    before = parts_of(paper)
    module, settings = built([variant], Settings())
    changed = {name for name, part in parts_of(module).items() if part != before[name]}
    assert changed == {*variant.parts}
    assert parts_of(paper) == before
    assert vars(settings) == {**vars(Settings()), **variant.settings}
    diff = variant.diff(Settings())
    assert [line[4:-1] for line in diff.splitlines(True) if line.startswith("--- ")] == [*variant.parts]
    for name, value in variant.settings.items():
        assert f"-{name} = {getattr(Settings(), name)}\n+{name} = {value}\n" in diff
    small = Settings(d_model=16, d_ff=32, num_heads=2)
    assert math.isfinite(Training(TASKS["copy"](), small, [variant]).step().loss)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_layers": 0}, "num_layers (0) must be at least 1"),
        ({"d_model": 33}, "d_model (33) must be even, and divisible by num_heads (2)"),
        ({"dropout": 1.0}, "dropout (1.0) must be at least 0 and below 1"),
    ],
)
def test_impossible_settings(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Settings(**settings)  # pyright: ignore[reportArgumentType]


def test_two_variants_do_not_change_the_same() -> None:
    with pytest.raises(ValueError, match="no_norm and no_residual both change add_and_norm: choose one of them"):
        built([VARIANTS["no_norm"], VARIANTS["no_residual"]], Settings())
