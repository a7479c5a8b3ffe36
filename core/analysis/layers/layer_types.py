"""Layer types of Table 1 (section 4), each from [B, n, d] to [B, n, d].

Each has only the parts that the table counts: the attention layers have no projections (which would add 4 n d^2
products to both), and no layer has a bias, a residual connection or a norm.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.files.number_range import FROM_1
from core.model.restricted_attention import centred_neighbourhood, restricted_attention
from core.text.phrases import Number, Phrase, marked


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Variables of the formulas of Table 1.

    Raises:
        ValueError: one of them is not a positive integer.
    """

    n: int  # positions
    d: int  # width of the vectors
    k: int = 3  # width of a convolution's kernel
    r: int = 16  # size of the neighbourhood of restricted self-attention
    dilated: bool = True  # whether stacked convolutions have dilations 1, k, k^2, ...

    def __post_init__(self) -> None:
        for name in ("n", "d", "k", "r"):
            FROM_1.check(name, getattr(self, name))


class SequenceLayer(nn.Module):
    """Base class of all layer types: [B, n, d] -> [B, n, d]."""

    def unrolled(self, positions: Sequence[Tensor]) -> list[Tensor]:
        """The same on n tensors [B, d], so that dependences can be traced."""
        return list(self(torch.stack(list(positions), dim=1)).unbind(1))


class SelfAttention(SequenceLayer):
    """softmax(x x^T / sqrt(d)) x: every position attends to every other (3.2.1)."""

    def forward(self, x: Tensor) -> Tensor:
        return (x / math.sqrt(x.size(-1)) @ x.transpose(1, 2)).softmax(-1) @ x


class RestrictedSelfAttention(SequenceLayer):
    """Self-attention to the r nearest positions, as `TransformerConfig.neighbourhood`."""

    def __init__(self, r: int) -> None:
        super().__init__()
        self.r = r

    def forward(self, x: Tensor) -> Tensor:
        neighbourhood = centred_neighbourhood(torch.ones(x.shape[:2], dtype=torch.bool, device=x.device), self.r)
        head = x[:, None]
        return restricted_attention(
            head / math.sqrt(x.size(-1)), head, head, neighbourhood, lambda scores: scores.softmax(-1)
        )[:, 0]


class Recurrent(SequenceLayer):
    """h_t = tanh(W x_t + U h_(t-1)), as in `torch.nn.RNN`."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.rnn = nn.RNN(d, d, bias=False, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.rnn(x)[0]

    def unrolled(self, positions: Sequence[Tensor]) -> list[Tensor]:
        weights = dict(self.rnn.named_parameters())
        states: list[Tensor] = []
        for x in positions:
            before = F.linear(states[-1], weights["weight_hh_l0"]) if states else 0
            states.append(torch.tanh(F.linear(x, weights["weight_ih_l0"]) + before))
        return states


class Convolutional(SequenceLayer):
    """Kernel of k positions with d x d weights each, zero-padded to keep n positions."""

    def __init__(self, d: int, k: int, dilation: int = 1, groups: int = 1) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(d, d, k, dilation=dilation, groups=groups, bias=False)
        reach = (k - 1) * dilation
        self.around = ((reach + 1) // 2, reach // 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.convolution(F.pad(x.transpose(1, 2), self.around)).transpose(1, 2)


class SeparableConvolutional(SequenceLayer):
    """Kernel of k weights per dimension, then a d x d matrix per position (4)."""

    def __init__(self, d: int, k: int, dilation: int = 1) -> None:
        super().__init__()
        self.along_positions = Convolutional(d, k, dilation, groups=d)
        self.along_dimensions = nn.Linear(d, d, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.along_dimensions(self.along_positions(x))


@dataclass(frozen=True, kw_only=True)
class LayerType:
    """A row of Table 1."""

    name: str  # display name
    complexity: str  # this column, `sequential` and `path` are as in the paper
    sequential: str
    path: Callable[[bool], str]
    bound: Callable[[Sizes], float]  # the expression inside O() as a number, as the next two
    sequential_bound: Callable[[Sizes], float]
    path_bound: Callable[[Sizes], float]
    operations: Callable[[Sizes], int]  # multiplications, each with an addition, with the constants that `bound` omits
    build: Callable[[Sizes, int], SequenceLayer]  # the layer at a depth of a stack, counted from 0
    causal: bool = False  # whether positions depend on earlier positions only

    def depends_on(self, size: Literal["k", "r"]) -> bool:
        """Whether the layer has a kernel of k positions, or a neighbourhood of r."""
        return size in self.complexity


def _dilation(sizes: Sizes, depth: int) -> int:
    """1, k, k^2, ... while below the number of positions, then from 1 again.

    A cycle connects all positions in the middle of a sequence; its ends lack paths through positions outside.
    """
    if not sizes.dilated or sizes.k == 1:
        return 1
    return sizes.k ** (depth % max(1, math.ceil(math.log(sizes.n, sizes.k) - 1e-9)))


def _convolutional_path(sizes: Sizes) -> float:
    if not sizes.dilated:
        return sizes.n / sizes.k
    return math.log(sizes.n) / math.log(sizes.k) if sizes.k > 1 else math.inf


def _convolutional_path_formula(dilated: bool) -> str:
    return "O(log_k(n))" if dilated else "O(n/k)"


LAYER_TYPES: dict[str, LayerType] = {
    "self_attention": LayerType(
        name=marked("Self-attention"),
        complexity="O(n^2 d)",
        sequential="O(1)",
        path=lambda _: "O(1)",
        bound=lambda s: s.n**2 * s.d,
        sequential_bound=lambda _: 1,
        path_bound=lambda _: 1,
        operations=lambda s: 2 * s.n**2 * s.d,
        build=lambda _sizes, _depth: SelfAttention(),
    ),
    "recurrent": LayerType(
        name=marked("Recurrent"),
        complexity="O(n d^2)",
        sequential="O(n)",
        path=lambda _: "O(n)",
        bound=lambda s: s.n * s.d**2,
        sequential_bound=lambda s: s.n,
        path_bound=lambda s: s.n,
        operations=lambda s: 2 * s.n * s.d**2,
        build=lambda sizes, _: Recurrent(sizes.d),
        causal=True,
    ),
    "convolutional": LayerType(
        name=marked("Convolutional"),
        complexity="O(k n d^2)",
        sequential="O(1)",
        path=_convolutional_path_formula,
        bound=lambda s: s.k * s.n * s.d**2,
        sequential_bound=lambda _: 1,
        path_bound=_convolutional_path,
        operations=lambda s: s.k * s.n * s.d**2,
        build=lambda sizes, depth: Convolutional(sizes.d, sizes.k, _dilation(sizes, depth)),
    ),
    "separable": LayerType(
        name=marked("Separable convolutional"),
        complexity="O(k n d + n d^2)",
        sequential="O(1)",
        path=_convolutional_path_formula,
        bound=lambda s: s.k * s.n * s.d + s.n * s.d**2,
        sequential_bound=lambda _: 1,
        path_bound=_convolutional_path,
        operations=lambda s: s.k * s.n * s.d + s.n * s.d**2,
        build=lambda sizes, depth: SeparableConvolutional(sizes.d, sizes.k, _dilation(sizes, depth)),
    ),
    "restricted": LayerType(
        name=marked("Restricted self-attention"),
        complexity="O(r n d)",
        sequential="O(1)",
        path=lambda _: "O(n/r)",
        bound=lambda s: min(s.r, s.n) * s.n * s.d,
        sequential_bound=lambda _: 1,
        path_bound=lambda s: max(1, s.n / s.r),
        operations=lambda s: 2 * min(s.r, s.n) * s.n * s.d,
        build=lambda sizes, _: RestrictedSelfAttention(sizes.r),
    ),
}


def compared_multiplications(at: Sizes) -> Phrase:
    """Compare the multiplications of self-attention and recurrence in a sentence."""
    words = {
        0: marked("At n = d = {n}, self-attention and a recurrent layer make the same number of multiplications."),
        -1: marked(
            "At n = {n} < d = {d}, self-attention makes {factor} times fewer multiplications than a recurrent layer."
        ),
        1: marked(
            "At n = {n} > d = {d}, a recurrent layer makes {factor} times fewer multiplications than self-attention."
        ),
    }[(at.n > at.d) - (at.n < at.d)]
    factor = Number(max(at.n, at.d) / min(at.n, at.d), ".3g")
    return Phrase(words, n=Number(at.n, ","), d=Number(at.d, ","), factor=factor)
