"""Choice of bfloat16 or float32 for a run, by timing its matrix products when it starts.

CPUs with AMX or AVX512_BF16 multiply several times as fast in bfloat16 as in float32; others, on which oneDNN emulates
bfloat16, many times as slowly. A resumed run keeps its precision.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import nn

from core.inference.device import supports_bfloat16
from core.model import Transformer
from train.loss import chunk_rows
from train.recipe import Recipe, TrainingPrecision

MAX_ROWS = 256  # tokens per product on a CPU; more are hardly faster and take longer to measure
MAX_SECONDS, MAX_REPEATS = 1.0, 10  # of processor time for all measurements together; of each measurement
MAX_RATIO = 0.9  # of bfloat16's to float32's time: a smaller saving is not worth the rounding error


@dataclass(frozen=True)
class MatrixProduct:
    """A product of a matrix [outputs, inputs] with `rows` vectors, of which a batch needs `count`."""

    outputs: int
    inputs: int
    rows: int
    count: float


@dataclass(frozen=True)
class ProductTimes:
    """Seconds for the products of one batch, forward and backward.

    Where bfloat16 is slower, its time is a lower bound, as `measure` stops early.
    """

    bfloat16: float
    float32: float
    batch_tokens: int

    @property
    def choice(self) -> TrainingPrecision:
        return "bfloat16" if self.bfloat16 < MAX_RATIO * self.float32 else "float32"

    def __str__(self) -> str:
        at_least = "at least " if self.bfloat16 > self.float32 else ""
        return (
            f"the matrix products of {self.batch_tokens:,} tokens a side take {at_least}{self.bfloat16:.3g} s in "
            f"bfloat16, {self.float32:.3g} s in float32"
        )

    def facts(self) -> dict[str, float]:
        """Return the times as a checkpoint records them."""
        return {
            "bfloat16_seconds": float(f"{self.bfloat16:.3g}"),
            "float32_seconds": float(f"{self.float32:.3g}"),
            "batch_tokens": self.batch_tokens,
        }


def resolve_precision(
    recipe: Recipe, recorded: TrainingPrecision | None, times: ProductTimes | None
) -> tuple[Recipe, str]:
    """Replace the precision `auto` of a recipe by that of the run being resumed, or by the one measured to be faster.

    Without times, as the device does not support bfloat16, it is float32. Returns the recipe, and a message, or "".
    """
    if recipe.precision != "auto":
        return recipe, ""
    choice: TrainingPrecision = times.choice if times else "float32"
    reason = str(times) if times else "this device does not support bfloat16"
    if recorded is None:
        return replace(recipe, precision=choice), f"precision {choice}: {reason}"
    note = f"precision {recorded}, as recorded for this run, although a new run here would use {choice}: {reason}"
    return replace(recipe, precision=recorded), note if recorded != choice else ""


def measure_precisions(model: Transformer, batch_tokens: int) -> ProductTimes | None:
    """Time a model's products in both precisions; None if its device does not support bfloat16."""
    device = model.device
    if not supports_bfloat16(device):
        return None
    matrix_products = products(model, batch_tokens)
    budget = MAX_SECONDS / (2 * len(matrix_products))
    return measure(matrix_products, batch_tokens, lambda product, dtype: seconds(product, dtype, device, budget))


def products(model: Transformer, batch_tokens: int) -> list[MatrixProduct]:
    """Return a batch's matrix products, smallest first; the one with the vocabulary in chunks as in `train.loss`."""
    device = model.device.type
    layers = [module for module in model.modules() if isinstance(module, nn.Linear)]
    counts = Counter((layer.out_features, layer.in_features) for layer in layers)
    rows = min(batch_tokens, MAX_ROWS) if device == "cpu" else batch_tokens
    matrix_products = [MatrixProduct(*shape, rows, count * batch_tokens / rows) for shape, count in counts.items()]
    vocab_size, d_model = model.embedding.tokens.weight.shape
    rows = min(batch_tokens, chunk_rows(vocab_size, device))
    matrix_products.append(MatrixProduct(vocab_size, d_model, rows, batch_tokens / rows))
    return sorted(matrix_products, key=lambda product: product.outputs * product.inputs)


def measure(
    matrix_products: list[MatrixProduct], batch_tokens: int, seconds_of: Callable[[MatrixProduct, torch.dtype], float]
) -> ProductTimes:
    """Sum the seconds in float32, then in bfloat16 until they exceed float32's, to save time where it is slow."""
    float32 = sum(product.count * seconds_of(product, torch.float32) for product in matrix_products)
    bfloat16 = 0.0
    for product in matrix_products:
        bfloat16 += product.count * seconds_of(product, torch.bfloat16)
        if bfloat16 > float32:
            break
    return ProductTimes(bfloat16, float32, batch_tokens)


def seconds(product: MatrixProduct, dtype: torch.dtype, device: torch.device, budget: float) -> float:
    """Return the shortest time of a product, forward and backward, over as many repeats as the budget allows.

    The budget is processor time, so that a busy machine does not reduce the number of repeats.
    """
    weight = torch.ones(product.outputs, product.inputs, dtype=dtype, device=device)
    x = torch.ones(product.rows, product.inputs, dtype=dtype, device=device)
    gradient = torch.ones(product.rows, product.outputs, dtype=dtype, device=device)

    def once() -> float:
        began = time.perf_counter()
        _ = x @ weight.T, gradient @ weight
        (gradient.T @ x)[0, 0].item()  # synchronises with the device
        return time.perf_counter() - began

    until = time.process_time() + budget
    once()  # warm-up: creates the kernels
    least = once()
    for _ in range(MAX_REPEATS - 1):
        if time.process_time() > until:
            break
        least = min(least, once())
    return least
