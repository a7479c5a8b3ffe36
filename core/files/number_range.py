"""Ranges of numbers: of the options of commands, and of the settings of functions."""

import argparse
from dataclasses import dataclass
from typing import Any

LARGEST = 10**15  # of all numbers; an integer up to here is exact as a float, in JSON and in JavaScript


@dataclass(frozen=True)
class NumberRange:
    """A range of finite numbers; as the `type` of an argument of a command it parses one of them."""

    kind: type[int] | type[float]  # int, or float, which includes integers
    least: float = 0  # smallest number
    most: float = LARGEST  # largest
    above: bool = False  # whether `least` itself is outside
    below: bool = False  # whether `most` is
    note: str = ""  # meaning of the number, for the message about another one

    def __contains__(self, value: object) -> bool:
        kinds = int if self.kind is int else (int, float)
        if not isinstance(value, kinds) or isinstance(value, bool) or not self.least <= value <= self.most:
            return False
        return not (self.above and value == self.least) and not (self.below and value == self.most)

    def __call__(self, text: str) -> Any:
        """Parse a number of the range.

        Raises:
            argparse.ArgumentTypeError: it is none.
        """
        try:
            value = self.kind(text)
        except ValueError:
            value = None
        if value not in self:
            raise argparse.ArgumentTypeError(f"{text:.60} must be {self}")
        return value

    def check(self, name: str, value: object) -> None:
        """Check a setting.

        Raises:
            ValueError: it is not in the range.
        """
        if value not in self:
            raise ValueError(f"{name} ({value!r:.60}) must be {self}")

    def __str__(self) -> str:
        kind, note = "an integer" if self.kind is int else "a number", f": {self.note}" if self.note else ""
        least, most = _shown(self.least), _shown(self.most)
        excluded = f", {least} excluded" * self.above + f", {most} excluded" * self.below
        return f"{kind} from {least} to {most}{excluded}{note}"


def _shown(value: float) -> str:
    return "10^15" if value == LARGEST else f"{value:,}" if isinstance(value, int) else f"{value:g}"


FROM_1 = NumberRange(int, 1)
COUNTED_FROM_1 = NumberRange(int, 1, note="it is counted from 1")
SEEDS = NumberRange(int)
