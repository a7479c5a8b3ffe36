import pytest
import torch

from core.analysis.corpus.running_statistics import Distribution, LargestValues


@pytest.mark.parametrize("size", [1, 3, 40])
def test_the_largest_values_are_those_of_all_at_once_in_whatever_order_they_arrive(size: int):
    generator = torch.Generator().manual_seed(size)
    values = torch.randint(-3, 6, (2, 2, 40), generator=generator).float()  # with many equal ones
    values[0, 0] -= 4  # few are positive
    marks = torch.stack((torch.arange(40).expand(2, 2, -1), torch.randint(9, (2, 2, 40), generator=generator)), -1)
    largest = LargestValues((2, 2), 7, 2)
    for part in torch.randperm(40, generator=generator).split(size):
        largest.add(values[..., part], marks[..., part, :])
    for row in ((0, 0), (0, 1), (1, 0), (1, 1)):
        expected = sorted(
            (
                (-value, *mark)
                for value, mark in zip(values[row].tolist(), marks[row].tolist(), strict=True)
                if value > 0
            )
        )[:7]
        found = [-largest.values[row][:, None], largest.marks[row]]
        assert torch.cat(found, 1)[: len(expected)].tolist() == [list(each) for each in expected]
        assert not largest.values[row][len(expected) :].any()


@pytest.mark.parametrize("count", [13, 5000])  # few: neighbours are in bins of their own
def test_quantiles_are_exact_to_a_sixteenth(count: int):
    values = (2 * torch.randn(3, count, generator=torch.Generator().manual_seed(0))).exp()
    values[1] *= torch.rand(count, generator=torch.Generator().manual_seed(1)) < 0.05  # active for few
    values[2] = -values[2]
    distribution = Distribution(3)
    for part in values.split(999, dim=1):
        distribution.add(part)
    levels = torch.tensor((0.5, 0.9, 0.99, 0.999), dtype=torch.float64)
    found = distribution.quantiles(levels.tolist())
    for row in range(2):
        counted = torch.arange(1, count + 1)  # of the values up to each
        expected = [values[row].sort().values[counted >= level * count][0] for level in levels]
        torch.testing.assert_close(found[row], torch.stack(expected), rtol=1 / 16, atol=0)
    assert not found[2].any()
    assert distribution.positive_share().tolist() == pytest.approx([1, float((values[1] > 0).float().mean()), 0])


def test_values_beyond_all_bins_are_counted_in_the_outermost():
    distribution = Distribution(1)
    distribution.add(torch.tensor([[1e-30, 1e30]]))
    low, high = distribution.quantiles((0.5, 1.0))[0].tolist()
    assert distribution.positive_share().item() == 1
    assert 2**-14 < low < 2**-13
    assert 2**11 < high < 2**12
