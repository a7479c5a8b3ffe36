"""Number of sequential products of a layer, and of products on the longest path.

Both are counted instead of taken from Table 1: dependence by gradients, products on the graph that PyTorch keeps for
the backward pass. The counts are exact, and feasible for small n.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import torch
from torch import Tensor

from core.analysis.declaration import Columns
from core.analysis.layers.layer_curves import layer_curves
from core.analysis.layers.layer_types import LAYER_TYPES, LayerType, SequenceLayer, Sizes
from core.analysis.pictures import Curves
from core.text.phrases import marked

Counted = Literal["sequential", "path"]
UNITS: dict[Counted, str] = {
    "sequential": marked("sequential products"),
    "path": marked("products between the two farthest positions"),
}

PRODUCTS = ("MmBackward", "AddmmBackward", "BmmBackward", "BaddbmmBackward", "ConvolutionBackward")
TRACED = (2, 4, 8, 16, 32)  # the n at which paths are counted
TRACED_WIDTH = 4  # d of the traced layers; counts do not depend on it


@dataclass(frozen=True)
class PathLength:
    """Counts of a small instance."""

    sequential: int  # products (of matrices, or convolutions) of one layer that depend on each other
    # number of layers after which every position depends on every other that it may; None if no stack is deep enough
    depth: int | None
    path: int | None  # products on the path between the two positions farthest apart in that stack; None likewise


@dataclass(frozen=True)
class PathCounts:
    """Counts of small instances of every layer type."""

    counts: Mapping[tuple[str, int], PathLength]  # by layer type and n
    at: Sizes  # the other sizes

    def table(self) -> Columns:
        """A row for each layer and n, with the O() predictions; None where there is no path."""
        rows = [(LAYER_TYPES[layer], replace(self.at, n=n), count) for (layer, n), count in self.counts.items()]
        counts = [count for _, _, count in rows]
        return {
            "layer": [layer.name for layer, _, _ in rows],
            "n": [sizes.n for _, sizes, _ in rows],
            "k": [self.at.k if layer.depends_on("k") else None for layer, _, _ in rows],
            "r": [self.at.r if layer.depends_on("r") else None for layer, _, _ in rows],
            "sequential": [count.sequential for count in counts],
            "sequential_within_O": [layer.sequential_bound(sizes) for layer, sizes, _ in rows],
            "layers": [count.depth for count in counts],
            "path": [count.path for count in counts],
            "path_within_O": [layer.path_bound(sizes) for layer, sizes, _ in rows],
        }

    def curves(self, counted: Counted) -> Curves:
        """One of the counts over n, with the O() prediction."""
        found = {key: getattr(count, counted) for key, count in self.counts.items()}
        points = {
            layer: [
                (replace(self.at, n=n), value)
                for (name, n), value in found.items()
                if name == layer and value is not None
            ]
            for layer in LAYER_TYPES
        }
        return layer_curves(points, "n", UNITS[counted], lambda layer: getattr(layer, f"{counted}_bound"))


def measure_path_length(layer_type: LayerType, sizes: Sizes) -> PathLength:
    """Count a layer type's sequential operations and its longest path, ignoring the width of `sizes`."""
    sizes = Sizes(n=sizes.n, d=TRACED_WIDTH, k=sizes.k, r=sizes.r, dilated=sizes.dilated)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        inputs = [torch.randn(1, sizes.d, dtype=torch.float64, requires_grad=True) for _ in range(sizes.n)]
        first = layer_type.build(sizes, 0).double()
        sequential = max(_longest_chain(output.grad_fn) for output in first.unrolled(inputs))
        stack = _connecting_stack(layer_type, sizes, inputs)
    if stack is None:
        return PathLength(sequential, None, None)
    outputs: Sequence[Tensor] = inputs
    for layer in stack:
        outputs = layer.unrolled(outputs)
    shortest = [_shortest_chains(output.grad_fn) for output in outputs]
    pairs = [(j, i) for j in range(sizes.n) for i in range(sizes.n) if i <= j or not layer_type.causal]
    return PathLength(sequential, len(stack), max(shortest[j][id(inputs[i])] for j, i in pairs))


def dependence(layer: Callable[[Sequence[Tensor]], Sequence[Tensor]], inputs: Sequence[Tensor]) -> Tensor:
    """Dependence of n outputs on n inputs, which require gradients, by these: boolean [outputs, inputs]."""
    outputs = layer(inputs)
    # One backward pass for all outputs: in row i, the gradient of every output but the i-th is zero.
    rows = torch.zeros(len(outputs), len(outputs), *outputs[0].shape, dtype=outputs[0].dtype)
    for i, output in enumerate(outputs):
        rows[i, i] = torch.randn_like(output)
    gradients = torch.autograd.grad(
        outputs, list(inputs), list(rows.unbind(1)), is_grads_batched=True, materialize_grads=True
    )
    return torch.stack([gradient.flatten(1).any(1) for gradient in gradients], dim=1)


def _connecting_stack(layer_type: LayerType, sizes: Sizes, inputs: Sequence[Tensor]) -> list[SequenceLayer] | None:
    """Fewest layers that connect all allowed pairs of positions; None if impossible."""
    wanted = torch.ones(sizes.n, sizes.n, dtype=torch.bool)
    wanted = wanted.tril() if layer_type.causal else wanted
    reached = torch.eye(sizes.n, dtype=torch.bool)
    stack: list[SequenceLayer] = []
    while not bool(reached[wanted].all()):
        if len(stack) > 2 * sizes.n:  # any layer that reaches another position needs fewer
            return None
        stack.append(layer_type.build(sizes, len(stack)).double())
        reached = (dependence(stack[-1].unrolled, inputs).float() @ reached.float()) > 0
    return stack or [layer_type.build(sizes, 0).double()]


def _is_product(node: Any) -> bool:
    return node.name().startswith(PRODUCTS)


def _longest_chain(root: Any) -> int:
    """Largest number of products on a path from this node to an input."""
    longest: dict[Any, int] = {}
    waiting = [root]
    while waiting:
        node = waiting[-1]
        before = [child for child, _ in node.next_functions if child is not None]
        missing = [child for child in before if child not in longest]
        if missing:
            waiting.extend(missing)
            continue
        longest[node] = _is_product(node) + max((longest[child] for child in before), default=0)
        waiting.pop()
    return longest[root]


def _shortest_chains(root: Any) -> dict[int, int]:
    """Smallest number of products on a path from this node to each input, by its `id`."""
    shortest, by_input = {root: int(_is_product(root))}, dict[int, int]()
    waiting = deque([root])
    while waiting:  # 0-1 breadth-first search: edges to other nodes than products cost nothing
        node = waiting.popleft()
        if hasattr(node, "variable"):
            by_input[id(node.variable)] = shortest[node]
        for child, _ in node.next_functions:
            if child is None:
                continue
            length = shortest[node] + _is_product(child)
            if length < shortest.get(child, length + 1):
                shortest[child] = length
                (waiting.append if _is_product(child) else waiting.appendleft)(child)
    return by_input


@cache
def path_lengths(k: int, r: int, dilated: bool) -> PathCounts:
    """Count sequential operations and path length of every layer at n in `TRACED`."""
    at = Sizes(n=max(TRACED), d=1, k=k, r=r, dilated=dilated)
    counts = {
        (layer, n): measure_path_length(layer_type, replace(at, n=n))
        for layer, layer_type in LAYER_TYPES.items()
        for n in TRACED
    }
    return PathCounts(counts, at)
