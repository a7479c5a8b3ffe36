"""Numbers of the steps that one token takes through one layer of the model.

One class for each kind of step, with the paper's section. Shapes: D d_model, K keys, H heads, V vocabulary.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from core.analysis.declaration import Columns
from core.files.tabular import as_columns
from core.model.config import NormKind
from core.results import Explanation
from core.trace import Kind, Stack


@dataclass(frozen=True)
class EmbeddingSteps:
    """Embedding and position of a token (3.4, 3.5): total = scale * token + position."""

    token: Tensor  # [D] row of the embedding matrix
    scale: float  # sqrt(d_model), or 1 in models that do not scale
    scaled: Tensor  # [D] token * scale
    position: Tensor | None  # [D] encoding of the position; None in a model with relative positions
    total: Tensor  # [D]


@dataclass(frozen=True)
class StackSteps:
    """Layers of which only the effect is shown."""

    first: int  # number of the first of these layers, from 0
    last: int  # of the last
    before: Tensor  # [D] state of the token before them
    after: Tensor  # after them


@dataclass(frozen=True)
class NormSteps:
    """LayerNorm (Ba et al. 2016; 3.1), or RMSNorm.

    gain * (x - mean) / sqrt(variance + epsilon) + bias; of RMSNorm gain * x / sqrt(mean square + epsilon).
    """

    kind: NormKind  # which of the two
    x: Tensor  # [D] input
    mean: float  # of the D numbers of the input; in an RMSNorm 0
    variance: float  # in an RMSNorm their mean square
    epsilon: float  # added to the variance
    normalised: Tensor  # [D] with mean 0 and variance 1; in an RMSNorm with mean square 1
    gain: Tensor  # [D] parameter
    bias: Tensor  # [D] parameter; of an RMSNorm 0
    output: Tensor  # [D]


@dataclass(frozen=True)
class AttentionSteps:
    """One head of an attention sub-layer, for one query (3.2.1, 3.2.2)."""

    kind: Kind  # which of the three uses of attention (3.2.3)
    head: int  # counted from 0
    x: Tensor  # [D] input of the query
    query: Tensor  # [d_k] x W_Q + b_Q
    keys: Tensor  # [K, d_k]
    products: Tensor  # [K, d_k] query_i * key_i; a row sums to q . k
    relative: Tensor | None  # [K] scores of the distances, of a model with relative positions; None of others
    scores: Tensor  # [K] q . k / sqrt(d_k), plus `relative`, before the mask
    allowed: Tensor  # [K] boolean; False where the mask sets the score to minus infinity
    exponentials: Tensor  # [K] exp(score - largest allowed score), 0 where masked
    weights: Tensor  # [K] exponentials divided by their sum
    gradients: Tensor  # [K] weight * (1 - weight), the derivative of a weight by its own score
    undivided: Tensor  # [K] q . k, plus `relative`: the scores without the division by sqrt(d_k), before the mask
    undivided_weights: Tensor  # [K] those that they would have, as the gradients; the model computes neither
    undivided_gradients: Tensor
    values: Tensor  # [K, d_v]
    weighted: Tensor  # [K, d_v] weight * value
    head_output: Tensor  # [d_v] sum of `weighted` over the keys
    heads: Tensor  # [H, d_v] the same of all heads
    output: Tensor  # [D] Concat(heads) W_O + b_O


@dataclass(frozen=True)
class FeedForwardSteps:
    """Position-wise feed-forward network (3.3)."""

    x: Tensor  # [D] input
    inner: Tensor  # [d_ff] x W_1 + b_1
    multiplier: Tensor | None  # [d_ff] x V + c, by which a gated network multiplies the activations; None in others
    hidden: Tensor  # [d_ff] after the activation: max(0, inner) in the paper; times `multiplier`
    output: Tensor  # [D] hidden W_2 + b_2


@dataclass(frozen=True)
class ResidualSteps:
    """Residual connection (3.1): total = x + added."""

    x: Tensor  # [D] state that bypasses the sub-layer
    added: Tensor  # [D] output of the sub-layer
    total: Tensor  # [D]


@dataclass(frozen=True)
class OutputSteps:
    """Logits and probabilities of the next token (3.4)."""

    state: Tensor  # [D] last state of the decoder
    # k of the V tokens, the most probable first; the predicted token last if it is not among them
    token_ids: tuple[int, ...]
    vectors: Tensor  # [k, D] their rows of the output matrix
    logits: Tensor  # [k] state . vector, plus the output bias if there is one
    log_sum: float  # logarithm of the sum of exp(logit) over all V tokens
    probabilities: Tensor  # [k] exp(logit - log_sum)
    predicted: int  # index of the predicted token in `token_ids`
    rank: int  # of the predicted token among all, from 1


Steps = EmbeddingSteps | StackSteps | NormSteps | AttentionSteps | FeedForwardSteps | ResidualSteps | OutputSteps


@dataclass(frozen=True)
class TokenPath:
    """One token followed through the model, in float64 on the CPU."""

    stack: Stack  # of the token: the encoder or the decoder
    position: int  # of the token in the input of the stack, from 0
    layer: int  # whose steps are shown, from 0
    head: int  # whose steps are shown in all attention of this layer, from 0
    num_layers: int  # of the stack
    explanation: Explanation  # tokens, log-probabilities and attention of the same pass
    # the steps by name, in the order of their computation: `embedding`, `input_norm` (if the model has one),
    # `layers_below` (unless the first layer is shown); of the sub-layers `encoder_self` or `decoder_self` and `cross`,
    # then `feed_forward`, each with NAME`_residual` and NAME`_norm` in the model's own order; `layers_above`,
    # `output_norm` (if the model has one) and, in the decoder, `output`
    parts: Mapping[str, Steps]
    state: Tensor  # [D] last state of the stack
    # for each quantity of a part, such as `cross.scores`, the largest deviation from what the model computed itself,
    # divided by the largest absolute value of the quantity if that is above 1
    differences: Mapping[str, float]

    @property
    def gap(self) -> float:
        """The largest of the differences."""
        return max(self.differences.values())

    @property
    def tokens(self) -> tuple[str, ...]:
        """Tokens fed to the stack."""
        return self.explanation.source_tokens if self.stack == "encoder" else self.explanation.fed_tokens

    def attention(self, kind: Kind) -> AttentionSteps:
        """The steps of a kind of attention.

        Raises:
            ValueError: the stack has no such attention.
        """
        steps = self.parts.get(kind)
        if not isinstance(steps, AttentionSteps):
            raise ValueError(f"the {self.stack} has no {kind} attention, only {' and '.join(self.kinds)}")
        return steps

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kinds of attention of the stack, in the order of the sub-layers."""
        return tuple(steps.kind for steps in self.parts.values() if isinstance(steps, AttentionSteps))

    def table(self, part: str | None = None, quantities: tuple[str, ...] = ()) -> Columns:
        """All numbers, or those of a part, or some quantities of it, one per row, counted from 0.

        Returns:
            `part`, `quantity`, `row` (the key, the head or the token of a matrix, else None), `index` (the dimension,
            else None) and `value`. Masked scores and booleans are numbers too: True is 1.

        Raises:
            ValueError: there is no such part or quantity.
        """
        if part is not None and part not in self.parts:
            raise ValueError(f"no part {part!r}, expected one of {', '.join(self.parts)}")
        rows: list[tuple[object, ...]] = []
        for name, steps in self.parts.items():
            if part not in (None, name):
                continue
            known = {field.name: getattr(steps, field.name) for field in fields(steps)}
            unknown = [quantity for quantity in quantities if quantity not in known]
            if unknown:
                raise ValueError(f"{name} has no quantity {unknown[0]!r}, expected one of {', '.join(known)}")
            for quantity, value in known.items():
                if not quantities or quantity in quantities:
                    rows += [(name, quantity, *number) for number in _numbers(value)]
        return as_columns(("part", "quantity", "row", "index", "value"), rows)


def _numbers(value: object) -> Iterator[tuple[int | None, int | None, float | int]]:
    """Row, index and value of each number of a quantity."""
    match value:
        case Tensor() if value.dim() == 2:
            for row, line in enumerate(value.tolist()):
                yield from ((row, index, number) for index, number in enumerate(line))
        case Tensor():
            numbers = value.int() if value.dtype == torch.bool else value
            yield from ((None, index, number) for index, number in enumerate(numbers.tolist()))
        case tuple():
            yield from ((None, index, int(number)) for index, number in enumerate(value))
        case int() | float():
            yield None, None, value
        case _:  # a name, such as the kind of attention
            return
