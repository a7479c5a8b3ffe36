"""Matrix products for inference on a CPU, with weights packed once.

Decoding multiplies large matrices by few rows, one per hypothesis, so its speed is limited by reading the matrices.
`torch.nn.functional.linear` leaves float32 to MKL, which reads matrices in row-major order and, on processors that it
is not tuned for, reaches a third of the memory bandwidth. Two libraries included in PyTorch are faster. FBGEMM reads
matrices in half precision and computes in float32, which is exact for a checkpoint saved in half precision; or it
multiplies 8-bit integers. oneDNN reads float32 or bfloat16 in its own blocked layout.

Only `CompiledLinear` guarantees that the result of a row does not depend on the other rows, to the bit. With the others
the order of summation may depend on the number of rows: FBGEMM's kernels for one and for two rows sum in different
orders with AVX2, not with AVX-512; oneDNN's for one row did with AVX-512 and 1,030 columns; MKL's do almost always. All
satisfy the error bound of a float32 sum in any order (Higham 2002, section 4.2): |computed - x W^T - b| <= n u / (1 - n
u) (|x| |W|^T + |b|) for n - 1 columns, u = 2^-24. So results of different batches agree to rounding, and no better.

All modules are forward only, from x [..., inputs] in float32 to [..., outputs] in float32.
"""

import math
import os
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from core.native import library as native

Product = Callable[[Tensor, Tensor | None], nn.Module]  # weight [outputs, inputs] and bias [outputs] -> the product

SMALL_MATRIX, SMALL_INPUT = 2**19, 2**14  # elements up to which a second thread does not speed up a product


class HalfPackedLinear(nn.Module):
    """`nn.Linear` in float32 on weights in half precision, in FBGEMM's layout."""

    name = "float16 weights"

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.bias = bias
        self._packed = torch.ops.quantized.linear_prepack_fp16(weight.detach().float(), bias)
        self._direct: Tensor | None = None  # a second copy of a small matrix
        if weight.numel() <= SMALL_MATRIX and has_direct_half():
            self._direct = torch.fbgemm_pack_gemm_matrix_fp16(weight.detach().float())

    def forward(self, x: Tensor) -> Tensor:
        if self._direct is not None and x.numel() <= SMALL_INPUT:
            return torch.fbgemm_linear_fp16_weight_fp32_activation(x, self._direct, self.bias)
        return torch.ops.quantized.linear_dynamic_fp16.default(x, self._packed)


class CompiledLinear(nn.Module):
    """`nn.Linear` in float32, compiled, on the weights themselves: no second copy."""

    name = "float32"

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        compiled = native.library()
        if compiled is None:
            raise RuntimeError("decoder_step.cpp is not compiled for this processor: use PackedLinear")
        self._compiled = compiled
        self._matrix = native.Matrix(compiled, weight, bias)

    def forward(self, x: Tensor) -> Tensor:
        return native.product(self._compiled, x, self._matrix)


class PackedLinear(nn.Module):
    """`nn.Linear` on a second copy of its weights in float32, in oneDNN's layout."""

    name = "float32"

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.bias = bias
        self._packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach())

    def forward(self, x: Tensor) -> Tensor:
        return _onednn_linear(x, self._packed, self.bias)


class Int8Linear(nn.Module):
    """`nn.Linear` in 8-bit integers, in FBGEMM's layout.

    Weights are rounded with one scale per output. Inputs are rounded at every call, with one scale and offset for all
    rows (FBGEMM has no other), so a row's result depends on the other rows, beyond rounding in float32. Inputs that are
    not finite may give finite results: check them elsewhere.
    """

    name = "int8"

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self._outputs = weight.size(0)
        self._packed = _int8_packed(weight.detach().float(), bias)
        self._reduce_range = int8_saturates()

    def forward(self, x: Tensor) -> Tensor:
        try:
            return torch.ops.quantized.linear_dynamic.default(x, self._packed, self._reduce_range)
        except RuntimeError:  # the range of NaN is undefined
            if x.isfinite().all():
                raise
            return x.new_full((*x.shape[:-1], self._outputs), math.nan)


class BFloat16Linear(nn.Module):
    """`nn.Linear` in bfloat16 with sums in float32, in oneDNN's layout; inputs, weights and results are rounded."""

    name = "bfloat16"

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self._bias = None if bias is None else bias.detach().bfloat16()
        self._packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach().bfloat16())

    def forward(self, x: Tensor) -> Tensor:
        return _onednn_linear(x.bfloat16(), self._packed, self._bias).float()


def onednn_products() -> AbstractContextManager[object]:
    """Compute every `linear` of this thread with oneDNN inside the block, for analyses of the model's own modules.

    Unlike packed products it needs no second model, so hooks work as usual. For a hundred rows or more it is about as
    fast as a packed product. Gradients reach the inputs, not the parameters. Tensors other than float32 on a CPU are
    left to PyTorch, and all if oneDNN is missing.
    """
    return _OneDnnProducts() if has_packed() else nullcontext()


class _OneDnnProducts(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if func is F.linear and not kwargs:
            x, weight = args[:2]
            if x.device.type == "cpu" and x.dtype == weight.dtype == torch.float32:
                product = _OneDnnLinear.apply if x.requires_grad and torch.is_grad_enabled() else _onednn_linear
                bias = args[2] if len(args) > 2 else None
                return product(x, weight.detach(), None if bias is None else bias.detach())
        return func(*args, **(kwargs or {}))


class _OneDnnLinear(torch.autograd.Function):
    """x W^T + b with a gradient for x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(weight)
        return _onednn_linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (weight,) = ctx.saved_tensors
        return _onednn_linear(gradients[0], weight.T.contiguous(), None), None, None


def _onednn_linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise.default(x, weight, bias, "none", [], "")


def bound_kernel_caches() -> None:
    """Limit the kernel caches of PyTorch and oneDNN.

    Call before the first product; capacities that the environment sets are kept. By default each cache holds about a
    thousand kernels. Every new number of rows adds some, so training on batches of many lengths, or a server with
    sentences of many lengths, would take hundreds of megabytes for kernels that are seldom used again.
    """
    for name in ("LRU_CACHE_CAPACITY", "ONEDNN_PRIMITIVE_CACHE_CAPACITY"):
        os.environ.setdefault(name, "128")


def _int8_packed(weight: Tensor, bias: Tensor | None) -> object:
    scales = weight.abs().amax(1).clamp_min(torch.finfo(weight.dtype).tiny * 127).double() / 127
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # quantized tensors are deprecated; `has_int8` is false without them
        offsets = torch.zeros(len(scales), dtype=torch.long)
        quantized = torch.quantize_per_channel(weight, scales, offsets, 0, torch.qint8)
    return torch.ops.quantized.linear_prepack(quantized, bias)


@cache
def int8_saturates() -> bool:
    """Whether 8-bit products overflow when added in pairs in 16 bits, as without VNNI.

    Inputs are then rounded to 7 bits, as FBGEMM's authors recommend (`reduce_range`).
    """
    ones = torch.ones(8, 64)
    packed = _int8_packed(torch.ones(8, 64), None)
    return bool((torch.ops.quantized.linear_dynamic.default(ones, packed, False) - 64).abs().max() > 1)


@cache
def has_direct_half() -> bool:
    """Whether FBGEMM's half-precision product can be called without PyTorch's wrapper.

    The result is the same to the bit and 8 microseconds faster, most of the time of a small product, but
    single-threaded. PyTorch deprecates the operator, so it is tested by a call. Its warnings are suppressed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            packed = torch.fbgemm_pack_gemm_matrix_fp16(torch.ones(2, 3))
            product = torch.fbgemm_linear_fp16_weight_fp32_activation(torch.ones(1, 1, 3), packed, None)
        except (AttributeError, RuntimeError, TypeError):
            return False
    return product.tolist() == [[[3.0, 3.0]]]


def has_half() -> bool:
    """Whether `HalfPackedLinear` works with this PyTorch and quantization engine."""
    return torch.backends.quantized.engine in ("x86", "fbgemm") and hasattr(torch.ops.quantized, "linear_dynamic_fp16")


def has_packed() -> bool:
    """Whether `PackedLinear` works with this PyTorch."""
    operators = ("_reorder_linear_weight", "_linear_pointwise")
    return torch.backends.mkldnn.is_available() and all(hasattr(torch.ops.mkldnn, each) for each in operators)


def has_int8() -> bool:
    """As `has_half`, for `Int8Linear`."""
    has_operators = hasattr(torch.ops.quantized, "linear_dynamic") and hasattr(torch, "quantize_per_channel")
    return torch.backends.quantized.engine in ("x86", "fbgemm") and has_operators


def has_bfloat16() -> bool:
    """Whether `BFloat16Linear` works with this PyTorch and processor."""
    ops = torch.ops.mkldnn
    return has_packed() and hasattr(ops, "_is_mkldnn_bf16_supported") and bool(ops._is_mkldnn_bf16_supported())


# --- The fastest of several ways to compute the same ----------------------------------------------------------------


REAL_GAIN = 1.15  # least speed-up over the exact product that is worth the loss of precision
MEASURED_CALLS, MEASURED_SECONDS = 3, 0.02  # of all products together: whichever is more
HOPELESS = 4  # slower than the fastest by this factor: not called again


@torch.inference_mode()
def measure(products: Mapping[str, Callable[[Tensor], Tensor]], x: Tensor) -> dict[str, float]:
    """Seconds of each product, the minimum over several calls, in turns, so that other work affects all alike."""
    for product in products.values():
        product(x)  # warm-up
    seconds = dict.fromkeys(products, math.inf)
    start, calls = time.perf_counter(), 0
    while calls < MEASURED_CALLS or time.perf_counter() < start + MEASURED_SECONDS:
        for name, product in products.items():
            if calls >= 2 and seconds[name] > HOPELESS * min(seconds.values()):
                continue
            began = time.perf_counter()
            product(x)
            seconds[name] = min(seconds[name], time.perf_counter() - began)
        calls += 1
    return seconds


def choose(seconds: dict[str, float]) -> str:
    """The fastest product, or the first, which is exact, if the gain is small."""
    exact = next(iter(seconds))
    fastest = min(seconds, key=lambda name: seconds[name])
    return fastest if seconds[exact] >= REAL_GAIN * seconds[fastest] else exact
