"""Filters that leave out pairs of a parallel text, and count them by reason."""

from array import array
from collections import Counter
from dataclasses import dataclass

import numpy as np

from core.files.number_range import FROM_1, NumberRange
from train.data.parallel_text import Pair

RATIOS = NumberRange(float, 1, note="it is the longer side's length over the shorter's")


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Conditions for leaving out a pair. Pairs with an empty side are always left out.

    Raises:
        ValueError: a limit is out of range.
    """

    max_words: int | None = None  # most words on a side
    max_ratio: float | None = None  # largest ratio of the sides' numbers of characters
    identical: bool = False  # leave out pairs with two identical sides
    duplicates: bool = False  # leave out pairs that occurred before

    def __post_init__(self) -> None:
        if self.max_words is not None:
            FROM_1.check("max_words", self.max_words)
        if self.max_ratio is not None:
            RATIOS.check("max_ratio", self.max_ratio)

    def reason(self, source: str, target: str) -> str | None:
        """Return the reason to leave out a pair, duplicates aside; None to keep it."""
        if not source.strip() or not target.strip():
            return "empty"
        if self.max_words and (len(source.split()) > self.max_words or len(target.split()) > self.max_words):
            return "too long"
        if self.max_ratio and max(len(source), len(target)) > self.max_ratio * min(len(source), len(target)):
            return "ratio"
        if self.identical and source == target:
            return "identical"
        return None


class PairFilter:
    """Applies filters to a stream of pairs, in 9 bytes of memory per pair."""

    def __init__(self, filters: Filters) -> None:
        self._filters = filters
        self._keep, self._hashes = array("B"), array("q")
        self.dropped: Counter[str] = Counter()

    def add(self, pair: Pair) -> bool:
        """Add the next pair, and return whether it is kept, unless it is a duplicate."""
        reason = self._filters.reason(*pair)
        if reason:
            self.dropped[reason] += 1
        self._keep.append(reason is None)
        self._hashes.append(hash(pair))
        return reason is None

    def kept(self) -> np.ndarray:
        """Return which pairs pass all filters, [pairs] bool.

        Pairs of equal hash count as duplicates: among 36 million, the chance of any collision is 1 in 28,000.
        """
        keep = np.array(self._keep, dtype=bool)
        if self._filters.duplicates:
            candidates = np.flatnonzero(keep)
            first = candidates[np.unique(np.array(self._hashes)[candidates], return_index=True)[1]]
            if len(candidates) > len(first):
                self.dropped["duplicate"] = len(candidates) - len(first)
            keep[:] = False
            keep[first] = True
        return keep
