"""A packed model computes what the model computes."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from core.capture import capture_attention
from core.config import PRESETS
from core.model import Transformer
from core.packing import HalfPackedLinear, PackedLinear, PackedTransformer, halves, has_fbgemm, has_onednn, packable

SOURCE = torch.tensor([[5, 9, 23, 2, 0], [7, 7, 31, 40, 2]])
TARGET = torch.tensor([[1, 6, 30, 12], [1, 8, 0, 0]])
needs_fbgemm = pytest.mark.skipif(not has_fbgemm(), reason="no FBGEMM in this PyTorch or for this processor")
needs_onednn = pytest.mark.skipif(not has_onednn(), reason="no oneDNN in this PyTorch")
needs_avx2 = pytest.mark.skipif("AVX" not in torch.backends.cpu.get_cpu_capability(), reason="no AVX2 here, so it cannot be forced")


@pytest.fixture(params=["float32", "half"])
def model(request: pytest.FixtureRequest) -> Transformer:
    """With weights as they come, or as a checkpoint in half precision holds them."""
    torch.manual_seed(4)
    model = Transformer(PRESETS["tiny"])
    rounded = model.half().float() if request.param == "half" else model
    return rounded.eval().requires_grad_(False)


@needs_onednn
def test_the_same_numbers(model: Transformer) -> None:
    assert packable(model)
    packed = PackedTransformer(model)
    products = {type(module) for module in packed.modules() if "Linear" in type(module).__name__}
    assert products == {HalfPackedLinear if halves(model) else PackedLinear}
    torch.testing.assert_close(packed(SOURCE, TARGET), model(SOURCE, TARGET), atol=1e-5, rtol=1e-5)


@needs_onednn
def test_keys_and_values_of_other_widths() -> None:
    torch.manual_seed(5)
    model = Transformer(replace(PRESETS["tiny"], d_k=6, d_v=10, num_decoder_heads=3)).eval().requires_grad_(False)
    torch.testing.assert_close(PackedTransformer(model)(SOURCE, TARGET), model(SOURCE, TARGET), atol=1e-5, rtol=1e-5)


@needs_fbgemm
@pytest.mark.parametrize("model", ["half"], indirect=True)
def test_halves_are_used_only_where_nothing_is_lost(model: Transformer) -> None:
    assert halves(model)
    model.decoder.layers[1].feed_forward.outer.weight[0, 0] = 1 + 2**-20  # between two halves
    assert not halves(model)
    model.decoder.layers[1].feed_forward.outer.weight[0, 0] = 1e6  # more than the largest half
    assert not halves(model)


LESSER = {  # environment in which each library takes the kernels that it has for processors with AVX2 and no more
    "FBGEMM_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
}
MULTIPLY = """
import sys, torch
from core.packing import HalfPackedLinear, PackedLinear
plain = lambda weight, bias: lambda x: torch.nn.functional.linear(x, weight, bias)
product = {"HalfPackedLinear": HalfPackedLinear, "PackedLinear": PackedLinear, "F.linear": plain}[sys.argv[1]]
cases = torch.load(sys.argv[2])
linears = [product(weight, bias) for weight, bias, _ in cases]
torch.save([[linear(rows[:count]) for count in range(1, 38)] for linear, (_, _, rows) in zip(linears, cases)], sys.argv[2])
print(torch.backends.cpu.get_cpu_capability())
"""


@pytest.mark.parametrize("environment", [pytest.param({}, id="best"), pytest.param(LESSER, id="AVX2", marks=needs_avx2)])
@pytest.mark.parametrize(
    "product", [pytest.param("HalfPackedLinear", marks=needs_fbgemm), pytest.param("PackedLinear", marks=needs_onednn), "F.linear"]
)
def test_however_many_the_rows_each_is_a_float32_sum(product: str, environment: dict[str, str], tmp_path: Path) -> None:
    """The error bound of a sum in any order, which is all that is promised: see `core.packing`."""
    torch.manual_seed(6)
    cases = [
        (torch.randn(outputs, inputs).half().float(), torch.randn(outputs), torch.randn(37, inputs))
        for inputs, outputs in ((50, 70), (64, 64), (1030, 33))
    ]
    torch.save(cases, tmp_path / "tensors.pt")
    command = [sys.executable, "-c", MULTIPLY, product, tmp_path / "tensors.pt"]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=True, timeout=120)
    assert not environment or done.stdout.strip() == "AVX2"
    for (weight, bias, rows), results in zip(cases, torch.load(tmp_path / "tensors.pt"), strict=True):
        exact = rows.double() @ weight.double().T + bias
        magnitude = rows.double().abs() @ weight.double().abs().T + bias.abs()
        unit = (rows.size(1) + 1) * 2**-24
        for result in results:
            assert ((result - exact[: len(result)]).abs() <= unit / (1 - unit) * magnitude[: len(result)]).all()


@pytest.mark.parametrize("model", ["half"], indirect=True)
@pytest.mark.parametrize("without", ["FBGEMM", "oneDNN", "both"])
def test_without_a_product_another_is_taken(model: Transformer, without: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PyTorch for another processor, of another version, or with another engine set."""
    expected = {
        "FBGEMM": PackedLinear if has_onednn() else None,
        "oneDNN": HalfPackedLinear if has_fbgemm() else None,
        "both": None,
    }[without]
    if without != "oneDNN":
        others = [engine for engine in torch.backends.quantized.supported_engines if engine not in ("x86", "fbgemm")]
        monkeypatch.setattr(torch.backends.quantized, "engine", others[0])
    if without != "FBGEMM":
        monkeypatch.setattr(torch.ops, "mkldnn", SimpleNamespace())
    assert packable(model) == (expected is not None)
    if expected:
        packed = PackedTransformer(model)
        assert {type(module) for module in packed.modules() if "Linear" in type(module).__name__} == {expected}
        torch.testing.assert_close(packed(SOURCE, TARGET), model(SOURCE, TARGET), atol=1e-5, rtol=1e-5)


@needs_onednn
def test_the_model_itself_stays_as_it_was(model: Transformer) -> None:
    before, names = model(SOURCE, TARGET), list(model.state_dict())
    PackedTransformer(model)
    assert torch.equal(model(SOURCE, TARGET), before)
    assert list(model.state_dict()) == names


@needs_onednn
def test_hooks_on_the_attention_weights_act_on_both(model: Transformer) -> None:
    packed = PackedTransformer(model)
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
    PackedTransformer(model)(SOURCE, TARGET)
    assert calls == []
    model(SOURCE, TARGET)
    assert calls == ["before", "after"]


@needs_onednn
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
