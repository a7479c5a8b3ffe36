"""Each product agrees with `nn.Linear` within its error bound, with this processor's kernels and those for AVX2."""

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from core.inference import cpu_products
from core.inference.cpu_products import REAL_GAIN, choose, measure
from core.native import library

LESSER = {  # environment in which each library takes the kernels that it has for processors with AVX2 and no more
    "FBGEMM_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
}
MULTIPLY = """
import sys, torch
from core.inference import cpu_products
plain = lambda weight, bias: lambda x: torch.nn.functional.linear(x, weight, bias)
cases, names = torch.load(sys.argv[1])
results = {}
for name in names:
    if name == "BFloat16Linear" and not cpu_products.has_bfloat16():
        continue
    product = getattr(cpu_products, name, plain)
    linears = [product(weight, bias) for weight, bias, _ in cases]
    results[name] = [[linear(rows[:count]) for count in range(1, 38)] for linear, (_, _, rows) in zip(linears, cases)]
saturates = cpu_products.has_int8() and cpu_products.int8_saturates()
facts = (saturates, cpu_products.has_bfloat16(), torch.backends.cpu.get_cpu_capability())
torch.save((results, facts), sys.argv[1])
"""
needs_half = pytest.mark.skipif(not cpu_products.has_half(), reason="no FBGEMM in this PyTorch or for this processor")
needs_int8 = pytest.mark.skipif(not cpu_products.has_int8(), reason="no FBGEMM in this PyTorch or for this processor")
needs_avx2 = pytest.mark.skipif(
    "AVX" not in torch.backends.cpu.get_cpu_capability(), reason="no AVX2 here, so it cannot be forced"
)

Bound = Callable[[Tensor, Tensor, Tensor], Tensor]  # rows, weight, bias in double precision -> [rows, outputs]


def float32_bound(rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Of a float32 sum in any order, which is all that is promised: see `core.inference.cpu_products`."""
    unit = (rows.size(1) + 1) * 2**-24
    return unit / (1 - unit) * (rows.abs() @ weight.abs().T + bias.abs())


def bfloat16_bound(rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Input, weight and result are rounded to 8 significant bits each, so by 2^-8 at most; a fourth such error
    covers the sum and terms of second order.
    """
    return 4 * 2**-8 * (rows.abs() @ weight.abs().T + bias.abs())


def int8_bound(rows: Tensor, weight: Tensor, bias: Tensor, bits: int = 7) -> Tensor:
    """Each weight is off by half a step of its row at most, each input by a step: half, and the offset's half.

    With 7 bits for the inputs, which holds for 8 too.
    """
    weight_step = weight.abs().amax(1) / 127  # [outputs]
    step = (rows.max().clamp_min(0) - rows.min().clamp_max(0)) / (2**bits - 1)
    of_weights = (rows.abs().sum(1)[:, None] + rows.size(1) * step) * weight_step / 2
    return of_weights + step * weight.abs().sum(1) + float32_bound(rows, weight, bias)


BOUNDS: dict[str, Bound] = {
    name: bound
    for name, bound, is_available in (
        ("HalfPackedLinear", float32_bound, cpu_products.has_half()),
        ("PackedLinear", float32_bound, cpu_products.has_packed()),
        ("CompiledLinear", float32_bound, library.library() is not None),
        ("Int8Linear", int8_bound, cpu_products.has_int8()),
        ("BFloat16Linear", bfloat16_bound, cpu_products.has_bfloat16()),
        ("F.linear", float32_bound, True),
    )
    if is_available
}


def cases() -> list[tuple[Tensor, Tensor, Tensor]]:
    """Weight (in half precision), bias and rows: odd sizes, multiples of every block size, large sums, and zeros."""
    torch.manual_seed(6)
    found = [
        (torch.randn(outputs, inputs), torch.randn(outputs), torch.randn(37, inputs))
        for inputs, outputs in ((50, 70), (64, 64), (1030, 33))
    ]
    weight, bias, rows = found[1]
    found += [
        (1 - weight.abs() / 100, bias, 1 - rows.abs() / 100),
        (weight * 0, bias, rows),
        (weight, bias * 0, rows * 0),
    ]
    return [(weight.half().float(), bias, rows) for weight, bias, rows in found]


Results = dict[str, list[list[Tensor]]]  # by product and case: the results for the first row, the first two, ...
# With whether 8-bit products saturate, whether there is bfloat16, and PyTorch's CPU capability.
Multiplied = tuple[Results, tuple[bool, bool, str]]


@pytest.fixture(scope="module")
def multiply(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Multiplied]:
    """All products, computed once with this processor's kernels ("best"), or in a process that has those for AVX2."""

    @functools.cache
    def run(kernels: str) -> Multiplied:
        file = tmp_path_factory.mktemp("products") / "tensors.pt"
        torch.save((cases(), list(BOUNDS)), file)
        if kernels == "AVX2":
            subprocess.run([sys.executable, "-c", MULTIPLY, file], env=os.environ | LESSER, check=True, timeout=120)
        else:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(sys, "argv", ["", file])
                exec(MULTIPLY, {})
        results, facts = torch.load(file)
        assert kernels == "best" or facts[2] == "AVX2"
        return results, facts

    return run


@pytest.fixture(params=["best", pytest.param("AVX2", marks=needs_avx2)])
def multiplied(request: pytest.FixtureRequest, multiply: Callable[[str], Multiplied]) -> Multiplied:
    return multiply(request.param)


@pytest.mark.parametrize("product", BOUNDS)
def test_every_number_of_rows_is_within_the_bound(product: str, multiplied: Multiplied) -> None:
    results, (_, bfloat16, _) = multiplied
    if product == "BFloat16Linear" and not bfloat16:
        pytest.skip("oneDNN has no bfloat16 for AVX2")
    for (weight, bias, rows), found in zip(cases(), results[product], strict=True):
        weight, bias, rows = weight.double(), bias.double(), rows.double()
        exact = rows @ weight.T + bias
        for count, result in enumerate(found, start=1):
            assert result.dtype == torch.float32
            assert ((result - exact[:count]).abs() <= BOUNDS[product](rows[:count], weight, bias)).all()


@needs_int8
@needs_avx2
def test_avx2_saturates_8_bit_products_and_has_no_bfloat16(multiply: Callable[[str], Multiplied]) -> None:
    """AVX2 adds pairs of 8-bit products in 16 bits."""
    _, (saturates, bfloat16, _) = multiply("AVX2")
    assert saturates
    assert not bfloat16


@needs_half
@pytest.mark.parametrize(
    "engine", [engine for engine in torch.backends.quantized.supported_engines if engine not in ("x86", "fbgemm")]
)
def test_with_another_engine_there_is_no_fbgemm(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.quantized, "engine", engine)
    assert not cpu_products.has_half()
    assert not cpu_products.has_int8()


def test_a_pytorch_without_the_operators_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.ops, "quantized", SimpleNamespace())
    monkeypatch.setattr(torch.ops, "mkldnn", SimpleNamespace())
    assert not any(
        (cpu_products.has_half(), cpu_products.has_int8(), cpu_products.has_packed(), cpu_products.has_bfloat16())
    )


@pytest.mark.skipif("CompiledLinear" not in BOUNDS, reason="decoder_step.cpp is not compiled for this processor")
def test_a_compiled_row_does_not_depend_on_the_others(multiplied: Multiplied) -> None:
    for found in multiplied[0]["CompiledLinear"]:
        assert all(torch.equal(result, found[-1][: len(result)]) for result in found)


def test_a_compiled_product_needs_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "library", lambda: None)
    with pytest.raises(RuntimeError, match="is not compiled for this processor: use PackedLinear"):
        cpu_products.CompiledLinear(torch.ones(2, 2), None)


@needs_int8
def test_a_pytorch_without_quantized_tensors_has_no_int8(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch, "quantize_per_channel")
    assert cpu_products.has_half() == (not cpu_products.has_int8())


@needs_half
def test_a_small_product_of_halves_is_that_of_a_large_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """FBGEMM is called in two ways, which give the same to the bit; each without and with a bias."""
    for weight, bias, rows in cases():
        for linear in (cpu_products.HalfPackedLinear(weight, bias), cpu_products.HalfPackedLinear(weight, None)):
            monkeypatch.setattr(cpu_products, "SMALL_INPUT", 2**20)
            small = linear(rows[None])
            monkeypatch.setattr(cpu_products, "SMALL_INPUT", 0)
            assert torch.equal(linear(rows[None]), small)


@pytest.mark.skipif(not cpu_products.has_packed(), reason="no oneDNN in this PyTorch")
def test_products_and_their_gradients_in_a_block():
    torch.manual_seed(0)
    x, directions = torch.randn(2, 5, 24, requires_grad=True), torch.randn(2, 5, 40)
    biased, unbiased = torch.nn.Linear(24, 40), torch.nn.Linear(24, 40, bias=False)
    for layer in (biased, unbiased):
        expected = layer(x)
        (gradient,) = torch.autograd.grad((expected * directions).sum(), x)
        with cpu_products.onednn_products():
            found = layer(x)
            (of_block,) = torch.autograd.grad((found * directions).sum(), x)
            assert torch.equal(layer(x.detach()), found)
            assert not layer(x.detach()).requires_grad  # gradients reach no parameter
            with torch.no_grad():
                assert torch.equal(layer(x), found)
            outside = layer.weight.double()
            assert torch.equal(torch.nn.functional.linear(x.double(), outside), x.double() @ outside.T)
        assert torch.allclose(found, expected, atol=1e-5)
        assert torch.allclose(of_block, gradient, atol=1e-5)
        assert "OneDnn" in type(found.grad_fn).__name__
        assert "OneDnn" not in type(layer(x).grad_fn).__name__


def test_kernel_caches_are_bounded_unless_the_environment_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "7"})
    cpu_products.bound_kernel_caches()
    assert os.environ == {"LRU_CACHE_CAPACITY": "128", "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "7"}


def test_a_reduced_product_is_chosen_for_a_real_gain_only() -> None:
    assert choose({"exact": REAL_GAIN * 1.01, "int8": 1.0, "bfloat16": 2.0}) == "int8"
    assert choose({"exact": REAL_GAIN * 0.99, "int8": 1.0, "bfloat16": 1.0}) == "exact"
    assert choose({"exact": 3.0, "int8": 2.0, "bfloat16": 1.0}) == "bfloat16"
    assert choose({"exact": 1.0}) == "exact"


def test_what_is_measured_is_the_best_call_of_each_but_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("core.inference.cpu_products.time", SimpleNamespace(perf_counter=lambda: clock.now))

    class Timed(torch.nn.Module):
        def __init__(self, *seconds: float) -> None:
            super().__init__()
            self.seconds = iter(seconds)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            clock.now += next(self.seconds)
            return x

    one, other, hopeless = Timed(0.25, 3, 2, 4), Timed(90, 1.5, 1, 7), Timed(1, 7, 8)
    assert measure({"one": one, "other": other, "hopeless": hopeless}, torch.zeros(4)) == {
        "one": 2,
        "other": 1,
        "hopeless": 7,
    }
