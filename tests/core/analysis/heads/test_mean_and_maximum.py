import pytest
import torch

from core.analysis.heads.mean_and_maximum import combined
from core.capture import AttentionMap


def layer(number: int, *heads: list[list[float]]) -> AttentionMap:
    return AttentionMap("encoder_self", number, torch.tensor(heads), ("a", "b"), ("a", "b"))


# Layers that differ in their number of heads: every head counts alike.
LAYERS = [layer(0, [[1.0, 0.0], [0.5, 0.5]]), layer(1, [[0.0, 1.0], [0.5, 0.5]], [[0.5, 0.5], [0.2, 0.8]])]


def test_the_mean_and_the_maximum_of_all_heads_of_all_layers():
    mean, maximum = combined(LAYERS)
    torch.testing.assert_close(mean, torch.tensor([[0.5, 0.5], [0.4, 0.6]]))
    torch.testing.assert_close(maximum, torch.tensor([[1.0, 1.0], [0.5, 0.8]]))


def test_of_chosen_heads_only():
    mean, maximum = combined(LAYERS, {(0, 0), (1, 1), (7, 0)})
    torch.testing.assert_close(mean, torch.tensor([[0.75, 0.25], [0.35, 0.65]]))
    torch.testing.assert_close(maximum, torch.tensor([[1.0, 0.5], [0.5, 0.8]]))


def test_one_head_is_its_own_mean_and_maximum():
    for found in combined(LAYERS, [(1, 0)]):
        torch.testing.assert_close(found, LAYERS[1].weights[0])


def test_nothing_has_no_mean():
    with pytest.raises(ValueError, match="no heads to combine"):
        combined(LAYERS, [(5, 0)])
