"""Which pairs of a parallel text to train on, and a count of those that are left out."""

from array import array
from collections import Counter
from dataclasses import dataclass

import numpy as np

from train.data.parallel_text import Pair


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What to leave out, beside pairs with an empty side. By default nothing.

    Raises:
        ValueError: a limit is out of range.
    """

    max_words: int | None = None  # pairs with a side of more words
    max_ratio: float | None = None  # pairs with a side of more than so many times the other's characters
    identical: bool = False  # pairs whose sides are the same text
    duplicates: bool = False  # pairs that came before

    def __post_init__(self) -> None:
        if self.max_words is not None and self.max_words < 1:
            raise ValueError(f"max_words ({self.max_words}) must be at least 1")
        if self.max_ratio is not None and self.max_ratio < 1:
            raise ValueError(
                f"max_ratio ({self.max_ratio}) must be at least 1: it is the longer side's length over the shorter's"
            )

    def reason(self, source: str, target: str) -> str | None:
        """Why to leave a pair out for its own sake; None to keep it, unless it came before."""
        if not source.strip() or not target.strip():
            return "empty"
        if self.max_words and (len(source.split()) > self.max_words or len(target.split()) > self.max_words):
            return "too long"
        if self.max_ratio and max(len(source), len(target)) > self.max_ratio * min(len(source), len(target)):
            return "ratio"
        if self.identical and source == target:
            return "identical"
        return None


class Sieve:
    """Filters at work on pair after pair, with 9 bytes of memory for each."""

    def __init__(self, filters: Filters) -> None:
        self._filters = filters
        self._keep, self._hashes = array("B"), array("q")
        self.dropped: Counter[str] = Counter()

    def add(self, pair: Pair) -> bool:
        """Look at the next pair; whether it is kept, as far as it can be said before all were seen."""
        reason = self._filters.reason(*pair)
        if reason:
            self.dropped[reason] += 1
        self._keep.append(reason is None)
        self._hashes.append(hash(pair))
        return reason is None

    def kept(self) -> np.ndarray:
        """[pairs] which of the pairs are kept, all filters considered.

        Two pairs of equal hash count as equal: among 36 million, the chance that any two others do is one in 28,000.
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
