"""A packed model computes what the model computes."""

from dataclasses import replace

import pytest
import torch

from core.capture import capture_attention
from core.config import PRESETS
from core.model import Transformer
from core.packing import HalfPackedLinear, PackedLinear, PackedTransformer, halves, packable

SOURCE = torch.tensor([[5, 9, 23, 2, 0], [7, 7, 31, 40, 2]])
TARGET = torch.tensor([[1, 6, 30, 12], [1, 8, 0, 0]])


@pytest.fixture(params=["float32", "half"])
def model(request: pytest.FixtureRequest) -> Transformer:
    """With weights as they come, or as a checkpoint in half precision holds them."""
    torch.manual_seed(4)
    model = Transformer(PRESETS["tiny"])
    rounded = model.half().float() if request.param == "half" else model
    return rounded.eval().requires_grad_(False)


def test_the_same_numbers(model: Transformer) -> None:
    assert packable(model)
    packed = PackedTransformer(model)
    products = {type(module) for module in packed.modules() if "Linear" in type(module).__name__}
    assert products == {HalfPackedLinear if halves(model) else PackedLinear}
    torch.testing.assert_close(packed(SOURCE, TARGET), model(SOURCE, TARGET), atol=1e-5, rtol=1e-5)


def test_keys_and_values_of_other_widths() -> None:
    torch.manual_seed(5)
    model = Transformer(replace(PRESETS["tiny"], d_k=6, d_v=10, num_decoder_heads=3)).eval().requires_grad_(False)
    torch.testing.assert_close(PackedTransformer(model)(SOURCE, TARGET), model(SOURCE, TARGET), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("model", ["half"], indirect=True)
def test_halves_are_used_only_where_nothing_is_lost(model: Transformer) -> None:
    assert halves(model)
    model.decoder.layers[1].feed_forward.outer.weight[0, 0] = 1 + 2**-20  # between two halves
    assert not halves(model)
    model.decoder.layers[1].feed_forward.outer.weight[0, 0] = 1e6  # more than the largest half
    assert not halves(model)


def test_a_row_of_halves_does_not_depend_on_the_other_rows() -> None:
    torch.manual_seed(6)
    product = HalfPackedLinear(torch.randn(70, 50).half().float(), torch.randn(70))
    rows = torch.randn(37, 50)
    assert torch.equal(product(rows), torch.cat([product(row[None]) for row in rows]))


def test_the_model_itself_stays_as_it_was(model: Transformer) -> None:
    before, names = model(SOURCE, TARGET), list(model.state_dict())
    PackedTransformer(model)
    assert torch.equal(model(SOURCE, TARGET), before)
    assert list(model.state_dict()) == names


def test_hooks_on_the_attention_weights_act_on_both(model: Transformer) -> None:
    packed = PackedTransformer(model)
    plain = packed(SOURCE, TARGET)
    with capture_attention(model, replace=lambda path, weights: weights * 0 if "cross" in path else None) as maps:
        without = packed(SOURCE, TARGET)
        torch.testing.assert_close(without, model(SOURCE, TARGET), atol=1e-5, rtol=1e-5)
    assert maps["decoder.layers.1.cross_attention"].abs().sum() == 0
    assert not torch.allclose(without, plain)


def test_other_hooks_stay_with_the_model(model: Transformer) -> None:
    layer = model.decoder.layers[0].self_attention
    calls: list[str] = []
    layer.register_forward_hook(lambda *_: calls.append("after"))
    layer.register_forward_pre_hook(lambda *_: calls.append("before"))
    PackedTransformer(model)(SOURCE, TARGET)
    assert calls == []
    model(SOURCE, TARGET)
    assert calls == ["before", "after"]


def test_it_tells_when_the_model_has_changed(model: Transformer) -> None:
    packed = PackedTransformer(model)
    assert packed.packs(model)
    model.encoder.layers[0].feed_forward.inner.bias.add_(1)
    assert not packed.packs(model)
    assert not PackedTransformer(model).packs(Transformer(PRESETS["tiny"]))


def test_only_float32_on_a_cpu(model: Transformer) -> None:
    assert not packable(model.double())
    with torch.device("meta"):
        assert not packable(Transformer(replace(PRESETS["tiny"], num_heads=2)))
