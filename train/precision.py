"""bfloat16 or float32: measured where a run begins, on the matrix products of its own model, and kept until it ends.

CPUs with AMX or AVX512_BF16 multiply several times as fast in bfloat16 as in float32; on others, where oneDNN has to
emulate it, it is many times as slow.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import nn

from core.device import supports_bfloat16
from core.model import Transformer
from train.loss import chunk_rows
from train.recipe import Recipe, TrainingPrecision

MOST_ROWS = 256  # tokens multiplied at once on a CPU; more are hardly faster, and take longer to measure
SECONDS, REPEATS = 1.0, 10  # at most: of processor time for all measurements together, and for each
WORTH_IT = 0.9  # of float32's time: bfloat16 that saves less is not worth its rounding


@dataclass(frozen=True)
class Product:
    """A matrix [outputs, inputs] times `rows` vectors, which a batch needs `count` times."""

    outputs: int
    inputs: int
    rows: int
    count: float


@dataclass(frozen=True)
class ProductTimes:
    """Seconds that the products of one batch take, forward and backward; of bfloat16, once it is the slower one, at
    least so many.
    """

    bfloat16: float
    float32: float
    batch_tokens: int

    @property
    def choice(self) -> TrainingPrecision:
        return "bfloat16" if self.bfloat16 < WORTH_IT * self.float32 else "float32"

    def __str__(self) -> str:
        at_least = "at least " if self.bfloat16 > self.float32 else ""
        return (
            f"the matrix products of {self.batch_tokens:,} tokens a side take {at_least}{self.bfloat16:.3g} s in "
            f"bfloat16, "
            f"{self.float32:.3g} s in float32"
        )

    def facts(self) -> dict[str, float]:
        """As they stand in a checkpoint."""
        return {
            "bfloat16_seconds": float(f"{self.bfloat16:.3g}"),
            "float32_seconds": float(f"{self.float32:.3g}"),
            "batch_tokens": self.batch_tokens,
        }


def settled(recipe: Recipe, recorded: TrainingPrecision | None, times: ProductTimes | None) -> tuple[Recipe, str]:
    """A recipe whose precision is `auto` with the recorded or the faster one in its place; any other as it is.

    Args:
        recorded: what the run was begun with; None for a new run.
        times: None where the device cannot compute in bfloat16.

    Returns:
        The recipe, and a sentence on the choice, or the empty string where there was none.
    """
    if recipe.precision != "auto":
        return recipe, ""
    choice: TrainingPrecision = times.choice if times else "float32"
    reason = str(times) if times else "this device has no bfloat16"
    if recorded is None:
        return replace(recipe, precision=choice), f"precision {choice}: {reason}"
    note = f"precision {recorded}, as the run was begun, although a new one would take {choice} here: {reason}"
    return replace(recipe, precision=recorded), note if recorded != choice else ""


def measured(model: Transformer, batch_tokens: int) -> ProductTimes | None:
    """What `settled` needs to know of the model's device; None where it cannot compute in bfloat16."""
    device = model.device
    if not supports_bfloat16(device):
        return None
    found = products(model, batch_tokens)
    budget = SECONDS / (2 * len(found))
    return measure(found, batch_tokens, lambda product, dtype: seconds(product, dtype, device, budget))


def products(model: Transformer, batch_tokens: int) -> list[Product]:
    """Every shape of matrix in a model, the smallest first; that of the vocabulary is multiplied in chunks, as
    `train.loss` does.
    """
    device = model.device.type
    layers = [module for module in model.modules() if isinstance(module, nn.Linear)]
    counts = Counter((layer.out_features, layer.in_features) for layer in layers)
    rows = min(batch_tokens, MOST_ROWS) if device == "cpu" else batch_tokens
    found = [Product(*shape, rows, count * batch_tokens / rows) for shape, count in counts.items()]
    vocab_size, d_model = model.embedding.tokens.weight.shape
    rows = min(batch_tokens, chunk_rows(vocab_size, device))
    found.append(Product(vocab_size, d_model, rows, batch_tokens / rows))
    return sorted(found, key=lambda product: product.outputs * product.inputs)


def measure(
    found: list[Product], batch_tokens: int, seconds_of: Callable[[Product, torch.dtype], float]
) -> ProductTimes:
    """Add up float32's seconds, then bfloat16's until they are more: where it is 50 times as slow, nobody waits for
    all of it.
    """
    float32 = sum(product.count * seconds_of(product, torch.float32) for product in found)
    bfloat16 = 0.0
    for product in found:
        bfloat16 += product.count * seconds_of(product, torch.bfloat16)
        if bfloat16 > float32:
            break
    return ProductTimes(bfloat16, float32, batch_tokens)


def seconds(product: Product, dtype: torch.dtype, device: torch.device, budget: float) -> float:
    """Multiply forward and backward until the budget is used up, once at least; the least time that it took.

    The budget is of processor time, so that on a busy machine there are as many tries to find one without interruption.
    """
    weight = torch.ones(product.outputs, product.inputs, dtype=dtype, device=device)
    x = torch.ones(product.rows, product.inputs, dtype=dtype, device=device)
    gradient = torch.ones(product.rows, product.outputs, dtype=dtype, device=device)

    def once() -> float:
        began = time.perf_counter()
        _ = x @ weight.T, gradient @ weight
        (gradient.T @ x)[0, 0].item()  # waits for the device
        return time.perf_counter() - began

    until = time.process_time() + budget
    once()  # makes its kernels
    least = once()
    for _ in range(REPEATS - 1):
        if time.process_time() > until:
            break
        least = min(least, once())
    return least
