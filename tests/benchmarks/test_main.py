"""The command runs every benchmark; ratios that differ by noise have not moved."""

import re
from pathlib import Path

import pytest

from benchmarks import __main__ as benchmarks
from benchmarks import ratios
from benchmarks.scaling import exponents

FOLDER = Path(benchmarks.__file__).parent


def test_every_script_is_run() -> None:
    scripts = {path.stem for path in FOLDER.glob("*.py") if 'if __name__ == "__main__"' in path.read_text("utf-8")}
    run = {
        re.split(r"[./]", part.removesuffix(".py"))[-1]
        for one in benchmarks.BENCHMARKS.values()
        for part in one.command
    }
    assert scripts - {"__main__", "signs", "first_training"} <= run  # which need text that the project does not have


def test_every_script_is_in_the_table() -> None:
    table = (FOLDER / "README.md").read_text("utf-8")
    for path in FOLDER.glob("*.py"):
        if 'if __name__ == "__main__"' in path.read_text("utf-8") and path.stem != "__main__":
            assert f"`{path.stem}`" in table


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ([2.0, 2.1, 2.2], [2.15, 2.3, 2.4], False),  # some turns are alike
        ([2.0, 2.1, 2.2], [2.21, 2.22, 2.23], True),
        ([2.0, 2.01, 2.02], [2.03, 2.04, 2.05], False),  # apart, but by less than 5 %
        ([2.0], [1.5], True),
        ([2.0], [1.95], False),
    ],
)
def test_a_ratio_moves_when_its_turns_do(before: list[float], now: list[float], expected: bool) -> None:
    assert benchmarks.moved(before, now) is expected
    assert benchmarks.moved(now, before) is expected
    (line,) = benchmarks.compare({"x": before}, {"x": now})
    assert line.endswith("MOVED" if expected else "as before")


def test_a_ratio_that_was_never_stored_is_new() -> None:
    assert benchmarks.compare({}, {"x": [1.0, 2.0, 3.0]}) == ["x: 2.00 (1.00 to 3.00), new"]


def test_ratios_are_saved_as_they_are(tmp_path: Path) -> None:
    ratios.save(tmp_path / "found.json", {"x": [1.5, 2.5]})
    assert (tmp_path / "found.json").read_text("utf-8").split() == ["{", '"x":', "[", "1.5,", "2.5", "]", "}"]
    ratios.save(None, {"x": [1.5]})


def test_the_exponent_of_a_power_is_its_power() -> None:
    for power in (0.0, 1.0, 2.5):
        assert exponents({size: 3 * size**power for size in (2, 4, 7, 100)})[1:] == pytest.approx([power] * 3)
