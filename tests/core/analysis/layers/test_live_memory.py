"""Memory that can be counted by hand."""

import torch

from core.analysis.layers.live_memory import LiveMemory

KB = 1024


def test_freed_memory_is_not_counted() -> None:
    before = torch.zeros(256)  # 1 KB, allocated outside
    with LiveMemory() as memory:
        one = before + 1
        view = one.view(16, 16).T[1:]  # nothing new
        before.add_(1)
        two = torch.cat((one, one))
        assert (memory.live, memory.peak) == (3 * KB, 3 * KB)
        del one, view
        assert memory.live == 2 * KB
        three = two * 2
        assert (memory.live, memory.peak, memory.largest) == (4 * KB, 4 * KB, 2 * KB)
        del two, three
    assert (memory.live, memory.peak, memory.largest) == (0, 4 * KB, 2 * KB)


def test_memory_for_the_backward_pass_is_counted() -> None:
    x = torch.ones(256, requires_grad=True)
    with torch.no_grad(), LiveMemory() as without:
        x.exp().exp().sum()
    with LiveMemory() as memory:
        y = x.exp().exp().sum()
        assert memory.live >= 2 * KB  # both exponentials
        y.backward()
    assert without.peak < memory.peak
