"""The layer types compute what they are named for, at the cost of their formulas."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from core.analysis.layers.layer_types import LAYER_TYPES, Sizes
from core.analysis.layers.path_length import dependence, measure_path_length

CASES = [
    (name, dilated)
    for name in LAYER_TYPES
    for dilated in (True, False)
    if dilated or name in ("convolutional", "separable")
]


@pytest.mark.parametrize("name", LAYER_TYPES)
@torch.no_grad()
def test_a_layer_keeps_its_shape_and_unrolled_it_is_the_same(name: str) -> None:
    torch.manual_seed(0)
    layer = LAYER_TYPES[name].build(Sizes(n=11, d=6, k=4, r=4), 1)
    x = torch.randn(2, 11, 6)
    found = layer(x)
    assert found.shape == x.shape
    torch.testing.assert_close(torch.stack(layer.unrolled(x.unbind(1)), 1), found)


@torch.no_grad()
def test_convolutions_by_their_sums() -> None:
    torch.manual_seed(0)
    sizes, x = Sizes(n=5, d=2, k=3), torch.randn(5, 2)
    layer = LAYER_TYPES["convolutional"].build(sizes, 0)
    (weight,) = layer.parameters()  # [out, in, k]
    padded = F.pad(x, (0, 0, 1, 1))
    expected = [sum(weight[:, :, j] @ padded[i + j] for j in range(3)) for i in range(5)]
    torch.testing.assert_close(layer(x[None])[0], torch.stack([Tensor(row) for row in expected]))
    separable = LAYER_TYPES["separable"].build(sizes, 0)
    along_positions, along_dimensions = separable.parameters()  # [d, 1, k], [d, d]
    expected = [along_dimensions @ sum(along_positions[:, 0, j] * padded[i + j] for j in range(3)) for i in range(5)]
    torch.testing.assert_close(separable(x[None])[0], torch.stack(expected))


@pytest.mark.parametrize("n", [32, 64])
@pytest.mark.parametrize("name", LAYER_TYPES)
def test_operations_are_those_that_pytorch_counts(name: str, n: int) -> None:
    """In floating-point operations; a multiplication with an addition counts as two."""
    sizes = Sizes(n=n, d=24, k=5, r=8)
    layer_type = LAYER_TYPES[name]
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        if name == "recurrent":  # step by step: the first has no state before it, which the formula does not mind
            layer = layer_type.build(sizes, 0)
            layer.unrolled(torch.randn(n, 1, 24).unbind(0))
            assert counter.get_total_flops() == 2 * (layer_type.operations(sizes) - 24 * 24)
            return
        layer_type.build(sizes, 0)(torch.randn(1, n, 24))
    counted = counter.get_total_flops() / 2
    if name == "restricted":  # in blocks, whose corners are computed and masked
        assert counted == 2 * n * (2 * sizes.r - 1) * 24
        assert layer_type.operations(sizes) < counted < 2 * layer_type.operations(sizes)
    else:
        assert counted == layer_type.operations(sizes)


def test_attention_and_recurrence_cost_the_same_where_n_is_d() -> None:
    attention, recurrent = LAYER_TYPES["self_attention"], LAYER_TYPES["recurrent"]
    for n, d in ((64, 64), (63, 64), (65, 64)):
        sizes = Sizes(n=n, d=d)
        cheaper = attention.operations(sizes) - recurrent.operations(sizes)
        assert (cheaper > 0, cheaper < 0) == (n > d, n < d)


def test_a_separable_layer_with_k_as_large_as_n_costs_n_squared_d_and_n_d_squared() -> None:
    """Equals self-attention and a point-wise layer, as section 4 states."""
    sizes = Sizes(n=20, d=6, k=20)
    assert LAYER_TYPES["separable"].bound(sizes) == 20**2 * 6 + 20 * 6**2


@pytest.mark.parametrize("name", "ndkr")
@pytest.mark.parametrize("value", [0, -1, 2.0, True])
def test_sizes_are_positive_integers(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"^{name} \({value!r}\) must be an integer from 1 "):
        Sizes(**{"n": 4, "d": 4, name: value})


# --- Paths ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 7, 16])
@pytest.mark.parametrize(("name", "dilated"), CASES)
def test_sequential_operations(name: str, dilated: bool, n: int) -> None:
    """By hand: two products for attention, n for a recurrence, one or two for convolutions."""
    expected = {"self_attention": 2, "restricted": 2, "recurrent": n, "convolutional": 1, "separable": 2}[name]
    assert measure_path_length(LAYER_TYPES[name], Sizes(n=n, d=64, k=3, r=3, dilated=dilated)).sequential == expected


@pytest.mark.parametrize("n", [2, 7, 12])
def test_path_lengths_by_hand(n: int) -> None:
    def path(name: str, **sizes: int | bool) -> int | None:
        return measure_path_length(LAYER_TYPES[name], Sizes(n=n, d=1, **sizes)).path

    assert path("self_attention") == 1
    assert path("recurrent") == n
    for k in (3, 5):
        layers = math.ceil((n - 1) / ((k - 1) // 2))  # each reaches (k - 1) / 2 to either side
        assert path("convolutional", k=k, dilated=False) == layers
        assert path("separable", k=k, dilated=False) == 2 * layers
    assert path("restricted", r=100) == 1


@pytest.mark.parametrize(("name", "dilated"), CASES)
def test_paths_grow_as_table_1_says(name: str, dilated: bool) -> None:
    """From n = 5 to n = 20, differences of counts equal those of the formulas, within rounding."""
    layer_type = LAYER_TYPES[name]
    counted, bound = [], []
    for n in (5, 10, 20):
        sizes = Sizes(n=n, d=1, k=3, r=5, dilated=dilated)
        path = measure_path_length(layer_type, sizes).path
        assert path is not None
        counted.append(path)
        bound.append(layer_type.path_bound(sizes))
    growth = (counted[2] - counted[0]) / (bound[2] - bound[0]) if bound[2] > bound[0] else 0
    halfway = (counted[1] - counted[0]) / (bound[1] - bound[0]) if bound[1] > bound[0] else 0
    if "O(1)" in layer_type.path(dilated):
        assert counted == [1, 1, 1]
    else:
        assert 1 <= growth <= 6
        assert abs(growth - halfway) <= 2


def test_a_stack_that_never_connects_has_no_path() -> None:
    trace = measure_path_length(LAYER_TYPES["convolutional"], Sizes(n=4, d=1, k=1))
    assert (trace.depth, trace.path) == (None, None)
    assert measure_path_length(LAYER_TYPES["restricted"], Sizes(n=4, d=1, r=1)).path is None


def test_tracing_leaves_the_random_numbers_alone() -> None:
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    measure_path_length(LAYER_TYPES["recurrent"], Sizes(n=3, d=2))
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("depth", [1, 3])
def test_dependence_composes_to_that_of_the_whole_stack(depth: int) -> None:
    """Layer by layer with 0 and 1, or by gradients through all layers."""
    sizes = Sizes(n=9, d=4, k=3)
    torch.manual_seed(0)
    inputs = [torch.randn(1, 4, dtype=torch.float64, requires_grad=True) for _ in range(9)]
    layers = [LAYER_TYPES["convolutional"].build(sizes, place).double() for place in range(depth)]

    def stack(positions: list[Tensor]) -> list[Tensor]:
        for layer in layers:
            positions = layer.unrolled(positions)
        return positions

    composed = torch.eye(9)
    for layer in layers:
        composed = (dependence(layer.unrolled, inputs).float() @ composed > 0).float()
    assert torch.equal(dependence(stack, inputs), composed.bool())
