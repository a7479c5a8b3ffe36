import pytest
import torch

from core.analysis.corpus.running_statistics import Distribution, LargestValues


@pytest.mark.parametrize("size", [1, 3, 40])
def test_the_largest_values_are_those_of_all_at_once_in_whatever_order_they_arrive(size: int):
    generator = torch.Generator().manual_seed(size)
    values = torch.randint(-3, 6, (4, 40), generator=generator).float()  # with many equal ones
    marks = torch.stack((torch.arange(40).expand(4, -1), torch.randint(9, (4, 40), generator=generator)), -1)
    largest = LargestValues((4,), 7, 2)
    for part in torch.randperm(40, generator=generator).split(size):
        largest.add(values[:, part], marks[:, part])
    for row in range(4):
        expected = sorted(
            (
                (-value, *mark)
                for value, mark in zip(values[row].tolist(), marks[row].tolist(), strict=True)
                if value > 0
            )
        )[:7]
        found = zip(largest.values[row].tolist(), largest.marks[row].tolist(), strict=True)
        assert [(-value, *mark) for value, mark in found if value > 0] == expected


def test_quantiles_are_exact_to_a_sixteenth():
    values = torch.randn(3, 5000, generator=torch.Generator().manual_seed(0)).exp()
    values[1] *= torch.rand(5000, generator=torch.Generator().manual_seed(1)) < 0.05  # active for few
    values[2] = -values[2]
    distribution = Distribution(3)
    for part in values.split(999, dim=1):
        distribution.add(part)
    levels = torch.tensor((0.5, 0.9, 0.99, 0.999), dtype=torch.float64)
    found = distribution.quantiles(levels.tolist())
    for row in range(2):
        expected = values[row].double().quantile(levels, interpolation="higher")
        torch.testing.assert_close(found[row].double(), expected, rtol=1 / 15, atol=0)
    assert not found[2].any()
    assert distribution.positive_share().tolist() == pytest.approx([1, float((values[1] > 0).float().mean()), 0])


def test_values_beyond_all_bins_are_counted_in_the_outermost():
    distribution = Distribution(1)
    distribution.add(torch.tensor([[1e-30, 1e30]]))
    low, high = distribution.quantiles((0.5, 1.0))[0].tolist()
    assert distribution.positive_share().item() == 1
    assert 2**-14 < low < 2**-13
    assert 2**11 < high < 2**12
