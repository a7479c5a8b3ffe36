"""Running maxima and quantiles of many series, in constant memory."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

BINS_PER_OCTAVE = 8
LOWEST_EXPONENT, OCTAVES = -14, 26  # values from 2^-14 up to 2^12 have bins of their own
BINS = BINS_PER_OCTAVE * OCTAVES


class LargestValues:
    """The k largest positive values of each of many series, and where they occurred.

    Equal values are ordered by their sentence, so the result does not depend on the order of arrival.

    Args:
        shape: of the series.
        k: number of values to keep.
        num_marks: integers that say where a value occurred, the sentence first.

    Attributes:
        values: [*shape, k], largest first; 0 where there are fewer.
        marks: [*shape, k, num_marks]
    """

    def __init__(self, shape: Sequence[int], k: int, num_marks: int) -> None:
        self.values = torch.zeros(*shape, k)
        self.marks = torch.zeros(*shape, k, num_marks, dtype=torch.int64)

    def add(self, values: Tensor, marks: Tensor) -> None:
        """Take positive values [*shape, N] with their marks [*shape, N, num_marks] into account."""
        k = self.values.size(-1)
        values = torch.cat((self.values, values.clamp_min(0)), -1)
        marks = torch.cat((self.marks, marks), -2)
        by_sentence = marks[..., 0].sort(dim=-1, stable=True).indices
        order = values.gather(-1, by_sentence).sort(dim=-1, descending=True, stable=True).indices[..., :k]
        kept = by_sentence.gather(-1, order)
        self.values = values.gather(-1, kept)
        self.marks = marks.gather(-2, kept[..., None].expand(*kept.shape, marks.size(-1)))


class Distribution:
    """Counts of the values of many series in bins, eight to an octave.

    A bin is the float32 numbers of one exponent and first three bits of mantissa: quantiles are exact to 1/16.
    `total` is the number of values of each series; those that are not positive count there only.

    Args:
        num_series: N.
    """

    def __init__(self, num_series: int) -> None:
        self.total = 0
        self._counts = torch.zeros(num_series, BINS, dtype=torch.int64)

    def add(self, values: Tensor) -> None:
        """Count values: [N, M] float32."""
        self.total += values.size(1)
        series, place = (values > 0).nonzero(as_tuple=True)
        # float32: 8 bits of the exponent, biased by 127, and 23 of the mantissa, of which 3 are kept
        bits = values[series, place].contiguous().view(torch.int32) >> 20
        bins = (bits - ((127 + LOWEST_EXPONENT) << 3)).clamp(0, BINS - 1)
        self._counts += torch.bincount(series * BINS + bins, minlength=self._counts.numel()).view_as(self._counts)

    def positive_share(self) -> Tensor:
        """Share of values above 0: [N]."""
        return (self._counts.sum(1) / max(self.total, 1)).float()

    def quantiles(self, levels: Sequence[float]) -> Tensor:
        """Values below which a share of the values lies: [N, levels].

        Each is the middle of the first bin up to which at least this share lies, 0 where that is not positive.
        """
        low = 2.0 ** (LOWEST_EXPONENT + torch.arange(BINS) // BINS_PER_OCTAVE)
        middles = low * (1 + (torch.arange(BINS) % BINS_PER_OCTAVE + 0.5) / BINS_PER_OCTAVE)
        points = torch.cat((torch.zeros(1), middles))
        zeros = self.total - self._counts.sum(1, keepdim=True)
        reached = torch.cat((zeros, self._counts), 1).cumsum(1)  # [N, 1 + bins]
        wanted = [
            torch.searchsorted(reached, torch.full_like(zeros, max(1, math.ceil(level * self.total))))
            for level in levels
        ]
        return points[torch.cat(wanted, 1).clamp_max(BINS)]
