"""Products of matrices disturbed by a few units in the last place, to find comparisons that lack a margin.

Processors and libraries sum in other orders, and so does one processor for another number of rows. `pytest --disturb
SEED` changes every float32 result of PyTorch's products, in all threads and in gradients. The change of an element is a
function of the element, its place, the operator, the shapes of all operands and the seed: the same product is disturbed
equally, and what does not enter an element does not matter to it. Only comparisons of different paths notice; they
need `tests.margins`. Compiled steps, products of packed weights and NumPy are not disturbed.
"""

import warnings
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.library import Library, get_kernel

UNITS = 4  # in the last place, at most
PRODUCTS = (
    "aten::mm",
    "aten::addmm",
    "aten::_addmm_activation",
    "aten::bmm",
    "aten::baddbmm",
    "aten::mv",
    "aten::addmv",
    "aten::dot",
    "aten::_scaled_dot_product_flash_attention_for_cpu",
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
    "mkldnn::_linear_pointwise",
)
_libraries: list[Library] = []  # each takes its kernels with it


def disturb(seed: int) -> None:
    """Disturb all products of this process from now on."""
    warnings.filterwarnings("ignore", "Warning only once for all operators")
    for name in PRODUCTS:
        namespace, operator = name.split("::")
        library = Library(namespace, "IMPL")
        kernel = get_kernel(name, "CPU").call_boxed
        library.impl(operator, partial(_product, f"{seed} {operator}", kernel), "CPU", with_keyset=True)
        _libraries.append(library)


def _product(salt: str, kernel: Callable[..., Any], keys: Any, *operands: Any, **further: Any) -> Any:
    found = kernel(keys, *operands, **further)
    shapes = [tuple(each.shape) for each in operands if isinstance(each, Tensor)]
    number = zlib.crc32(f"{salt} {shapes}".encode())
    if isinstance(found, Tensor):
        return _disturbed(found, number)
    return tuple(_disturbed(each, number) if isinstance(each, Tensor) else each for each in found)


def _disturbed(values: Tensor, number: int) -> Tensor:
    if values.dtype != torch.float32:
        return values
    bits = values.contiguous().view(torch.int32).long() + (torch.arange(values.numel()).view(values.shape) << 32)
    mixed = (bits + number) * 0x1E3779B97F4A7C15
    mixed = (mixed ^ (mixed >> 29)) * 0x3F58476D1CE4E5B9
    units = (mixed >> 40) % (2 * UNITS + 1) - UNITS
    return values * (1 + units * torch.finfo(torch.float32).eps)
