"""A packed model computes what the model computes."""

import copy
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, get_args

import pytest
import torch
from torch import nn

from core.capture import capture_attention
from core.inference import cpu_inference, cpu_products
from core.model import Transformer
from core.model.preset_configs import PRESETS
from core.native import library
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from tests.core.tiny_models import LIKE_T5

SOURCE = torch.tensor([[5, 9, 23, 2, 0], [7, 7, 31, 40, 2]])
TARGET = torch.tensor([[1, 6, 30, 12], [1, 8, 0, 0]])
needs_fbgemm = pytest.mark.skipif(not cpu_products.has_half(), reason="no FBGEMM in this PyTorch or for this processor")
needs_onednn = pytest.mark.skipif(not cpu_products.has_packed(), reason="no oneDNN in this PyTorch")


@pytest.fixture(params=["float32", "half"])
def model(request: pytest.FixtureRequest) -> Transformer:
    """With weights as they come, or as a checkpoint in half precision holds them."""
    torch.manual_seed(4)
    model = Transformer(PRESETS["tiny"])
    rounded = model.half().float() if request.param == "half" else model
    return rounded.eval().requires_grad_(False)


def products_of(packed: cpu_inference.PackedTransformer) -> set[type]:
    return {type(module) for module in packed.modules() if hasattr(module, "name")}


@needs_onednn
def test_the_same_numbers(model: Transformer) -> None:
    assert cpu_inference.packable(model)
    packed = cpu_inference.PackedTransformer(model)
    assert products_of(packed) == set()  # none is packed before it is used
    torch.testing.assert_close(packed(SOURCE, TARGET), model(SOURCE, TARGET), atol=1e-5, rtol=1e-5)
    assert products_of(packed) == {cpu_inference.exact_product(model)}


@needs_fbgemm
@pytest.mark.parametrize("columns", [15, 16])
def test_matrices_of_few_columns_are_not_packed_in_halves(columns: int, model: Transformer) -> None:
    """FBGEMM pads the columns to 512: a matrix of two columns would take 256 times its size."""
    narrow = Transformer(replace(model.config, d_ff=columns)).requires_grad_(False)
    for parameter in narrow.parameters():
        parameter.copy_(parameter.half())
    assert cpu_inference.halves(narrow) == (columns == 16)


@needs_fbgemm
@pytest.mark.parametrize("model", ["half"], indirect=True)
def test_halves_are_used_only_where_nothing_is_lost(model: Transformer) -> None:
    assert cpu_inference.halves(model)
    model.decoder.layers[1].feed_forward.outer.weight[0, 0] = 1 + 2**-20  # between two halves
    assert not cpu_inference.halves(model)
    model.decoder.layers[1].feed_forward.outer.weight[0, 0] = 1e6  # more than the largest half
    assert not cpu_inference.halves(model)


@pytest.mark.parametrize("model", ["half"], indirect=True)
@pytest.mark.parametrize("without", ["FBGEMM", "oneDNN", "both"])
def test_without_a_product_another_is_taken(model: Transformer, without: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PyTorch for another processor, of another version, or with another engine set; and nothing is compiled."""
    monkeypatch.setattr(library, "library", lambda: None)
    expected = {
        "FBGEMM": cpu_products.PackedLinear if cpu_products.has_packed() else None,
        "oneDNN": cpu_products.HalfPackedLinear if cpu_products.has_half() else None,
        "both": None,
    }[without]
    if without != "oneDNN":
        others = [engine for engine in torch.backends.quantized.supported_engines if engine not in ("x86", "fbgemm")]
        monkeypatch.setattr(torch.backends.quantized, "engine", others[0])
    if without != "FBGEMM":
        monkeypatch.setattr(torch.ops, "mkldnn", SimpleNamespace())
    assert cpu_inference.packable(model) == (expected is not None)
    if expected:
        packed = cpu_inference.PackedTransformer(model)
        torch.testing.assert_close(packed(SOURCE, TARGET), model(SOURCE, TARGET), atol=1e-5, rtol=1e-5)
        assert products_of(packed) == {expected}


@needs_onednn
def test_the_model_itself_stays_as_it_was(model: Transformer) -> None:
    before, names = model(SOURCE, TARGET), list(model.state_dict())
    cpu_inference.PackedTransformer(model)
    assert torch.equal(model(SOURCE, TARGET), before)
    assert list(model.state_dict()) == names


@needs_onednn
def test_hooks_on_the_attention_weights_act_on_both(model: Transformer) -> None:
    packed = cpu_inference.PackedTransformer(model)
    plain = packed(SOURCE, TARGET)
    with capture_attention(model, replace=lambda path, weights: weights * 0 if "cross" in path else None) as maps:
        without = packed(SOURCE, TARGET)
        torch.testing.assert_close(without, model(SOURCE, TARGET), atol=1e-5, rtol=1e-5)
    assert maps["decoder.layers.1.cross_attention"].abs().sum() == 0
    assert not torch.allclose(without, plain)


@needs_onednn
def test_other_hooks_stay_with_the_model(model: Transformer) -> None:
    layer = model.decoder.layers[0].self_attention
    calls: list[str] = []
    layer.register_forward_hook(lambda *_: calls.append("after"))
    layer.register_forward_pre_hook(lambda *_: calls.append("before"))
    cpu_inference.PackedTransformer(model)(SOURCE, TARGET)
    assert calls == []
    model(SOURCE, TARGET)
    assert calls == ["before", "after"]


@needs_onednn
@pytest.mark.parametrize(
    "change",
    [
        lambda inner: setattr(inner, "weight", nn.Parameter(inner.weight.clone())),
        lambda inner: inner.register_parameter("bias", None),
        lambda inner: inner.weight.mul_(2),
        lambda inner: inner.bias.add_(1),
    ],
)
def test_other_parameters_and_modules_are_a_change(model: Transformer, change: Callable[[nn.Linear], object]) -> None:
    packed = cpu_inference.PackedTransformer(model)
    assert packed.packs(model)
    change(model.decoder.layers[0].feed_forward.inner)
    assert not packed.packs(model)


@needs_onednn
def test_another_layer_model_or_type_is_a_change(model: Transformer) -> None:
    packed = cpu_inference.PackedTransformer(model)
    layer, layers = copy.deepcopy(model.decoder.layers[0]), model.decoder.layers
    layers[0], kept = layer, layers[0]
    assert not packed.packs(model)
    layers[0] = kept
    assert packed.packs(model)
    assert not packed.packs(Transformer(PRESETS["tiny"]))
    assert not packed.packs(model.double())


def test_only_tokens_in_float32_on_a_cpu(model: Transformer) -> None:
    assert cpu_inference.packing_obstacle(model) is None
    assert cpu_inference.computation(model).startswith(("compiled layers", "packed matrices"))
    assert cpu_inference.packing_obstacle(model.double()) == "its weights are in float64"
    assert cpu_inference.packing_obstacle(model.to("meta")) == "it is on meta"
    of_images = Transformer(replace(PRESETS["tiny"], patch_size=4))
    assert not cpu_inference.packable(of_images)
    assert cpu_inference.computation(of_images) == "PyTorch, as its source is an image"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        (LIKE_T5, "relative positions, RMSNorm, gated networks, the activation gelu_tanh"),
        ({"gated_feed_forward": True}, "gated networks"),
    ],
)
def test_a_variant_that_is_not_compiled_runs_in_pytorch_in_every_precision(
    changes: dict[str, Any], named: str, tokenizer: SentencePieceTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 8)  # an untrained model does not end its sentences
    model = Transformer(replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size, **changes)).eval()
    assert cpu_inference.computation(model) == f"PyTorch, as it has {named}"
    exact, fast = (
        Translator(model, tokenizer, precision=each).translate("A dog runs.")
        for each in get_args(cpu_inference.Precision)
    )
    assert exact.hypotheses == fast.hypotheses


# --- fast -----------------------------------------------------------------------------------------------------------

REDUCED = [
    pytest.param(
        cpu_products.Int8Linear,
        marks=pytest.mark.skipif(not cpu_products.has_int8(), reason="no FBGEMM in this PyTorch or for this processor"),
    ),
    pytest.param(
        cpu_products.BFloat16Linear,
        marks=pytest.mark.skipif(not cpu_products.has_bfloat16(), reason="oneDNN has no bfloat16 for this processor"),
    ),
]


@needs_onednn
@pytest.mark.parametrize("reduced", REDUCED)
def test_fast_computes_nearly_the_same(
    model: Transformer, reduced: type[cpu_products.Int8Linear], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        "core.inference.cpu_inference.choose",
        lambda seconds: reduced.name if reduced.name in seconds else next(iter(seconds)),
    )
    packed = cpu_inference.PackedTransformer(model, "fast")
    expected = model(SOURCE, TARGET)
    error = (packed(SOURCE, TARGET) - expected).norm() / expected.norm()
    assert 0 < error < 0.1
    exact = cpu_inference.exact_product(model)
    assert products_of(packed) == {reduced, exact}
    assert {type(layer.feed_forward.outer.product) for layer in packed.decoder.layers} == {exact}


@needs_onednn
@pytest.mark.parametrize("reduced", REDUCED)
def test_few_rows_and_many_may_have_different_products(
    model: Transformer, reduced: type[cpu_products.Int8Linear], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first choice for a shape is of few rows, the second of many."""
    chosen: list[str] = []

    def alternate(seconds: dict[str, float]) -> str:
        chosen.append(next(iter(seconds)) if len(chosen) % 2 == 0 else reduced.name)
        return chosen[-1]

    monkeypatch.setattr("core.inference.cpu_inference.choose", alternate)
    packed = cpu_inference.PackedTransformer(model, "fast")
    packed.compiled_encoder = None
    few, many = SOURCE[:, :4], SOURCE.repeat(10, 1)  # 8 and 100 rows
    torch.testing.assert_close(packed.encode(few), model.encode(few), atol=1e-5, rtol=1e-5)
    assert not torch.allclose(packed.encode(many), model.encode(many), atol=1e-5, rtol=1e-5)
    assert products_of(packed) == {cpu_inference.exact_product(model), reduced}


@needs_onednn
def test_every_shape_of_matrix_is_measured_once(model: Transformer) -> None:
    state = torch.get_rng_state()
    packed = cpu_inference.PackedTransformer(model, "fast")
    assert torch.equal(torch.get_rng_state(), state)
    d, ff, v = model.config.d_model, model.config.d_ff, model.config.vocab_size
    shapes = {(d, 3 * d), (d, d), (d, ff), (d, v)} if len(packed.products) > 1 else set()
    assert {(choice.inputs, choice.outputs) for choice in packed.choices.values()} == shapes
    assert len(packed.choices) == 2 * len(shapes)
    for choice in packed.choices.values():
        assert list(choice.seconds) == [product.name for product in packed.products]
        assert all(seconds > 0 for seconds in choice.seconds.values())
        assert choice.product == cpu_products.choose(choice.seconds)


@needs_onednn
def test_fast_is_exact_where_there_is_nothing_else(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.inference.cpu_inference.has_int8", lambda: False)
    monkeypatch.setattr("core.inference.cpu_inference.has_bfloat16", lambda: False)
    packed = cpu_inference.PackedTransformer(model, "fast")
    assert packed.choices == {}
    assert torch.equal(packed(SOURCE, TARGET), cpu_inference.PackedTransformer(model)(SOURCE, TARGET))
