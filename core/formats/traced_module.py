"""A Transformer that somebody else has written, read by the values of a pass, whatever its parts are called.

A pass on one sentence is recorded operation by operation, and another one on other tokens: what is the same in both is
a parameter, so that a product with it is a linear layer. Softmaxes tell heads. Columns of queries, keys and values are
those of linear layers, times a number, in whatever order a module splits, packs or stacks them. States are sums, or
LayerNorm of sums.
"""

import math
from collections.abc import Iterator
from itertools import product, zip_longest
from typing import Any, NamedTuple, get_args

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from core.formats.checkpoint import CheckpointError
from core.formats.torch_transformer import NAME
from core.model.config import PositionExponent, PositionOrder
from core.model.embedding import sinusoidal_encoding
from core.model.layers import ACTIVATIONS

Pair = tuple[Tensor, Tensor]  # ids of one source and target; weight and bias; input and output
TOLERANCE = 1e-5  # of values in float32, relative to the largest
SAME_NUMBER = 1e-4  # relative, of what multiplies scores and embeddings
EPSILONS = (1e-5, 1e-6, 1e-8, 1e-12, 1e-3)  # of norms, the usual ones first
REDUCTIONS = ("native_layer_norm", "mean", "var", "var_mean", "std", "std_mean", "sum")  # of the input of a norm
# Options of a description that name what is read.
NAMES = {"model_type": NAME, "source_embedding": "source", "target_embedding": "target", "output": "output"}
LAYERS = {"encoder": ("self_attn", "linear"), "decoder": ("self_attn", "multihead_attn", "linear")}


class Step(NamedTuple):
    """An operation of PyTorch, with copies of its tensors."""

    name: str
    operands: list[Tensor]
    result: Tensor


class Recorder(TorchDispatchMode):
    """Records the operations of a pass in their order, without those that only view a tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:  # whose import takes seconds
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with self:
            result = func.decompose(*args, **(kwargs or {}))  # in inference mode, functions come here whole
        if result is not NotImplemented:
            return result
        operands = [each.detach().float().cpu().clone() for each in args if isinstance(each, Tensor)]
        result = func(*args, **(kwargs or {}))
        value = result[0] if isinstance(result, tuple | list) and result else result
        if isinstance(value, Tensor) and value.is_floating_point() and not func.is_view:
            self.steps.append(Step(func.overloadpacket.__name__, operands, value.detach().float().cpu().clone()))
        return result


class Linear(NamedTuple):
    """A product with a parameter, and what is added."""

    step: int
    x: Tensor  # [L, I]
    weight: Tensor  # [O, I]
    bias: Tensor  # [O]
    y: Tensor  # [L, O]


class Sublayer(NamedTuple):
    """A sub-layer with weights and biases under torch's names of its parts."""

    step: int
    part: str
    x: Tensor  # [L, D]
    y: Tensor  # [L, D]
    memory: Tensor  # [K, D]; of a feed-forward network x
    parameters: dict[str, Pair]
    detail: int | str  # number of heads, or activation


class TracedModule:
    """A module of a `name` by two passes; `stored` are its tensors, `sizes` those of the vocabularies."""

    def __init__(
        self, name: str, ids: list[Pair], passes: list[list[Step]], stored: list[Tensor], sizes: tuple[int, int]
    ) -> None:
        self._name, self._ids, self._stored, self._sizes = name, ids, stored, sizes
        self._steps, self._others = passes
        if [each.name for each in self._steps] != [each.name for each in self._others]:
            raise self._refusal("what it computes depends on the tokens")
        rows = {len(each) for each in stored if each.dim() == 2}
        for side, size in zip(("source", "target"), sizes, strict=True):
            if size not in rows:
                raise self._refusal(f"no matrix has {size} rows, one for each piece of the given {side} vocabulary")
        self._linears, self._products = list[Linear](), list[tuple[int, Tensor, Tensor]]()
        for number, pair in enumerate(zip(*passes, strict=True)):
            self._add_products(number, *pair)

    def read(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Options of a description, and parameters under the names of `torch.nn.Transformer`.

        Raises:
            CheckpointError: the first part that is none of the paper's, or of a variant that can be described.
        """
        lengths = [each.size(1) for each in self._ids[0]]
        output = next((each for each in self._linears[::-1] if each.y.shape == (lengths[1], self._sizes[1])), None)
        sublayers = self._sublayers([each for each in self._linears if each is not output])
        stacks = [[each for each in sublayers if len(each.x) == length] for length in lengths]
        for (stack, layer), found in zip(LAYERS.items(), stacks, strict=True):
            parts = tuple(each.part for each in found)
            if not parts or parts != layer * (len(parts) // len(layer)):
                raise self._refusal(f"its {stack} has {', '.join(parts) or 'nothing'}, expected layers of {layer}")
        options, tensors, states = self._embeddings([stack[0].step for stack in stacks])
        ends = stacks[1][1].memory, output.x if output else self._steps[-1].result.reshape(lengths[1], -1)
        pairs, norms = dict[str, Pair](), dict[str, Pair]()
        for stack, layers, state, end in zip(LAYERS, stacks, states, ends, strict=True):
            options["norm_first"], found = self._norms(stack, layers, state, end)
            norms |= found
            for number, each in enumerate(layers):
                prefix = f"{stack}.layers.{number // len(LAYERS[stack])}."
                pairs |= {prefix + name: pair for name, pair in each.parameters.items()}
        totals = {sum(_norm(*pair, eps)[0] for pair in norms.values()): eps for eps in reversed(EPSILONS)}
        eps = [each for total, each in totals.items() if total < 2 * min(totals)][-1]
        for name, pair in norms.items():
            gain, bias = _norm(*pair, eps)[1:]
            pairs[name] = self._stored_as(gain, 1), self._stored_as(bias, 1)
        pairs["output"] = (output.weight, output.bias) if output else self._output(tensors)
        tensors |= {f"{name}.weight": weight for name, (weight, _) in pairs.items()}
        for kind in ("output", "_attn", "linear", "norm"):  # biases of all of a kind, or of none
            biases = {f"{name}.bias": bias for name, (_, bias) in pairs.items() if kind in name}
            tensors |= biases if any(each.any() for each in biases.values()) else {}
        first, second = stacks[0][:2]
        return options | {"layer_norm_eps": eps, "nhead": first.detail, "activation": second.detail}, tensors

    def _refusal(self, problem: str) -> CheckpointError:
        return CheckpointError(f"{self._name}: {problem}. docs/formats.md says what Headlight reads")

    def _add_products(self, number: int, step: Step, other: Step) -> None:
        """Keep a product of two values, or with a parameter."""
        if step.name == "convolution" and step.operands[1].shape[2:] == (1,):
            self._add_linear(number, step.operands[0][0].T, step.operands[1][:, :, 0], step.result[0].T)
        if step.name not in ("mm", "addmm", "bmm", "baddbmm"):
            return
        first, second, result = (each.reshape(-1, *each.shape[-2:]) for each in (*step.operands[-2:], step.result))
        fixed = [torch.equal(*pair) for pair in zip(step.operands[-2:], other.operands[-2:], strict=True)]
        if not any(fixed):
            self._products.append((number, first, second))
        for a, b, y in zip(first, second, result, strict=True) if sum(fixed) == 1 else ():
            self._add_linear(number, *((a, b.T, y) if fixed[1] else (b.T, a, y.T)))

    def _add_linear(self, number: int, x: Tensor, weight: Tensor, y: Tensor) -> None:
        """Keep a product with the row that it or one of the next operations adds to all of its rows."""
        plain, bias = x @ weight.T, torch.zeros(len(weight))
        following = [each.result for each in self._steps[number + 1 : number + 4] if each.name[:3] == "add"]
        for value in (y, *(each.reshape(y.shape) for each in following if each.numel() == y.numel())):
            added = (value - plain).mean(0)
            if _is_same(plain + added, value):
                bias = self._stored_as(added, float(y.abs().max()))
        self._linears.append(Linear(number, x, weight, bias, plain + bias))

    def _stored_as(self, vector: Tensor, scale: float) -> Tensor:
        """The stored vector, or number, that one is but for rounding of values of a scale; itself if there is none."""
        stored = [each.flatten() for each in self._stored if each.numel() in (1, len(vector))]
        factors = 1.0, math.sqrt(1 - 1 / len(vector))  # of a norm by the deviation of n - 1
        known = [times * each for each in (torch.zeros(1), torch.ones(1), *stored) for times in factors]
        distance, number = min((float((each - vector).abs().max()), number) for number, each in enumerate(known))
        return known[number].expand(len(vector)).clone() if distance <= TOLERANCE * scale else vector

    def _heads(self) -> Iterator[tuple[int, list[Tensor]]]:
        """Softmaxes of attention, with queries (for scores divided by sqrt(E)), keys, values, results: [H, L, E]."""
        for number, step in enumerate(self._steps):
            pairs = [(n > number, *pair) for n, a, b in self._products for pair in ((a, b), (b.mT, a.mT))]
            if step.name not in ("_softmax", "_safe_softmax"):
                continue
            flat = step.result.flatten()
            mixed = [(a, b) for is_after, a, b in pairs if is_after and torch.equal(a.flatten(), flat)]
            for weights, values in mixed[:1]:  # none: a softmax of no attention
                before = [(q, b.mT) for is_after, q, b in pairs[::-1] if not is_after]
                fitting = [(q, k) for q, k in before if (*q.shape[:2], k.size(1)) == weights.shape]
                scales = ((_scale(q @ k.mT, weights), q, k) for q, k in fitting)
                scale, queries, keys = next((each for each in scales if each[0]), (0, values, values))
                if not scale:
                    raise self._refusal("scores of attention are no products of queries and keys, times a number")
                yield number, [queries * scale * math.sqrt(queries.size(2)), keys, values, weights @ values]

    def _sublayers(self, linears: list[Linear]) -> list[Sublayer]:
        """All sub-layers, in the order of their results."""
        found, used, waiting = list[Sublayer](), list[Linear](), dict(self._heads())
        for linear in linears:
            ready = {step: h for step, h in waiting.items() if step < linear.step and h[3].size(1) == len(linear.x)}
            parts = zip(*ready.values(), strict=True)
            heads = [torch.cat([each.transpose(0, 1).flatten(1) for each in part], 1) for part in parts]
            if not heads or heads[3].shape != linear.x.shape:
                continue
            distance, index = torch.cdist(linear.x.T.double(), heads[3].T.double()).min(1)
            if float(distance.max()) > TOLERANCE * float(linear.x.abs().max()):
                continue
            waiting = {step: each for step, each in waiting.items() if step not in ready}
            weight = torch.empty_like(linear.weight)
            weight[:, index] = linear.weight
            before = [each for each in linears[::-1] if each.step < linear.step]
            pairs, layers = zip(*(self._projection(each, before) for each in heads[:3]), strict=True)
            x, memory = layers[0][0].x, layers[1][0].x
            part = "self_attn" if _is_same(x, memory) else "multihead_attn"
            names = [f"{part}.{name}_proj" for name in ("q", "k", "v", "out")]
            parameters = dict(zip(names, [*pairs, (weight, linear.bias)], strict=True))
            number = sum(len(each[0]) for each in ready.values())
            found.append(Sublayer(linear.step, part, x, linear.y, memory, parameters, number))
            used += [linear, *(one for each in layers for one in each)]
        rest = [each for each in linears if not any(torch.equal(each.weight, one.weight) for one in used)]
        rest.sort(key=lambda each: len(each.x))  # by stack
        for one, other in zip_longest(rest[::2], rest[1::2]):
            names = [name for name, each in ACTIVATIONS.items() if other and _is_same(each(one.y), other.x)]
            if not names:
                raise self._refusal(f"after a layer of {list(one.weight.shape)} is none of {', '.join(ACTIVATIONS)}")
            parameters = {"linear1": (one.weight, one.bias), "linear2": (other.weight, other.bias)}
            found.append(Sublayer(other.step, "linear", one.x, other.y, one.x, parameters, names[0]))
        return sorted(found, key=lambda each: each.step)

    def _projection(self, columns: Tensor, linears: list[Linear]) -> tuple[Pair, list[Linear]]:
        """Weight and bias of columns [L, n], and the layers, the last ones first, whose columns they are."""
        missing, used = torch.ones(columns.size(1), dtype=torch.bool), list[Linear]()
        weight, bias = torch.zeros(len(missing), 0), torch.zeros(len(missing))
        for linear in (each for each in linears if len(each.x) == len(columns)):
            is_same, index, ratio = _matched(columns, linear.y)
            if not (new := missing & is_same).any():
                continue
            used.append(linear)
            if not _is_same(linear.x, used[0].x):
                break
            weight = weight if weight.numel() else torch.zeros(len(missing), linear.x.size(1))
            weight[new] = (ratio[:, None] * linear.weight[index])[new]
            rest = (columns - ratio * linear.y[:, index]).mean(0)  # what is added after the layer
            rest = rest.where(rest.abs() > TOLERANCE * columns.abs().max(), 0.0)
            bias[new] = (ratio * linear.bias[index] + rest)[new]
            missing &= ~new
            if not missing.any():
                return (weight, bias), used
        raise self._refusal("queries, keys or values are no linear layers of one state")

    def _norms(self, stack: str, layers: list[Sublayer], start: Tensor, end: Tensor) -> tuple[bool, dict[str, Pair]]:
        """Whether norms are before the sub-layers, and the input and the output of each norm, by torch's names."""
        size, state, final = len(LAYERS[stack]), start, f"{stack}.norm"
        before: dict[str, Pair] = {}
        after: dict[str, Pair] = {} if _is_same(layers[0].x, start) else {f"{stack}.input_norm": (start, layers[0].x)}
        for number, (each, x) in enumerate(zip(layers, [*(each.x for each in layers[1:]), end], strict=True)):
            name = f"{stack}.layers.{number // size}.norm{number % size + 1}"
            before[name], after[name], state = (state, each.x), (each.x + each.y, x), state + each.y
        before |= {} if _is_same(state, end) else {final: (state, end)}
        name, (last, _) = list(after.items())[-1]
        for step in self._steps[layers[-1].step :]:
            if step.name in REDUCTIONS and step.operands[0].numel() == end.numel():
                state = step.operands[0].reshape(end.shape)
                if _is_norm(last, state) and _is_norm(state, end):  # a norm of a norm
                    after |= {name: (last, state), final: (state, end)}
        broken = [[name for name, pair in norms.items() if not _is_norm(*pair)] for norms in (before, after)]
        if all(broken):
            raise self._refusal(f"{min(broken, key=len)[0]} is not found: no LayerNorm of the sum of states before it")
        return not broken[0], after if broken[0] else before

    def _embeddings(self, stops: list[int]) -> tuple[dict[str, Any], dict[str, Tensor], list[Tensor]]:
        """Options and tensors of embeddings and positions, and the inputs of both stacks, which are before `stops`."""
        found = [self._embedding(side, stop) for side, stop in enumerate(stops)]
        states = [state for state, _, _ in found]
        is_scaled = all(scale == math.sqrt(matrix.size(1)) for _, matrix, scale in found)
        options, tensors = dict[str, Any](scale_embedding=is_scaled), dict[str, Tensor]()
        for name, (_, matrix, scale) in zip(("source", "target"), found, strict=True):
            tensors[name] = matrix if is_scaled or scale == 1 else matrix * scale
        words = [scale * matrix[ids[0]] for ids, (_, matrix, scale) in zip(self._ids[0], found, strict=True)]
        (length, width), sides = states[0].shape, list(zip(words, states, strict=True))
        for order, exponent, first in product(get_args(PositionOrder), get_args(PositionExponent), (0, 1, 2)):
            table = sinusoidal_encoding(length, width + width % 2, first=first, order=order, exponent=exponent)
            if all(_is_same(word + table[: len(word), :width], state) for word, state in sides):
                named = {"positions": order, "position_exponent": exponent, "position_offset": first}
                return options | named, tensors, states
        tables = [each.flatten(0, -2)[first:] for each in self._stored if each.dim() > 1 for first in range(3)]
        tables = [each for each in tables if each.size(1) == width and len(each) >= length]
        for name, (word, state) in zip(("position_table", "target_position_table"), sides, strict=True):
            fitting = [each for each in tables if _is_same(word + each[: len(word)], state)]
            if not fitting:
                raise self._refusal("what it adds to embeddings is neither sines and cosines nor a table that it keeps")
            tensors[name], options[name] = fitting[0], name
        return options | {"positions": "learned"}, tensors, states

    def _embedding(self, side: int, stop: int) -> tuple[Tensor, Tensor, float]:
        """The input of a stack [L, D], the matrix [V, D] of its embedding, and its factor there."""
        size = self._sizes[side]
        for matrix in (each for each in self._stored if each.dim() == 2 and len(each) == size):
            change = matrix[self._ids[0][side][0]] - matrix[self._ids[1][side][0]]
            for step, other in zip(self._steps[stop::-1], self._others[stop::-1], strict=True):
                if step.result.numel() == change.numel():
                    changed = (step.result - other.result).reshape(change.shape)
                    scale = float((changed * change).sum() / change.square().sum())
                    if abs(scale) > TOLERANCE and _is_same(scale * change, changed):
                        usual = (
                            each for each in (1.0, math.sqrt(matrix.size(1))) if abs(scale / each - 1) < SAME_NUMBER
                        )
                        return step.result.reshape(change.shape), matrix, next(usual, scale)
        raise self._refusal(f"no matrix of {size} rows is the embedding of its {('source', 'target')[side]}")

    def _output(self, tensors: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Weight and bias of the layer of the logits, which is outside of the pass: the last that no embedding has."""
        target = tensors["target"]
        others = [each for each in self._stored if not any(map(each.equal, tensors.values()))]
        biases = [torch.zeros(len(target)), *(each for each in others if each.shape == target.shape[:1])]
        return [target, *(each for each in others if each.shape == target.shape)][-1], biases[-1]


def _is_same(one: Tensor, other: Tensor) -> bool:
    """Whether values are equal but for rounding."""
    return one.shape == other.shape and float((one - other).abs().max()) <= TOLERANCE * float(other.abs().max())


def _matched(columns: Tensor, others: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Which of columns [L, n] are other columns times a number plus a number; of which, and how many times."""
    one, other = ((each - each.mean(0)).double() for each in (columns, others))
    best, index = (F.normalize(one, dim=0).T @ F.normalize(other, dim=0)).abs().max(1)
    other = other[:, index]
    ratio = ((one * other).sum(0) / other.square().sum(0)).float()
    return best > 1 - 10 * TOLERANCE**2, index, torch.where((ratio - 1).abs() < SAME_NUMBER, 1.0, ratio)


def _scale(scores: Tensor, weights: Tensor) -> float | None:
    """The number that scores [H, Q, K] are multiplied by before a softmax with a mask; None if there is none."""
    seen = weights > TOLERANCE
    logs, scores = (each.where(seen, 0.0).double() for each in (weights.log(), scores))
    means = (each.sum(-1, keepdim=True) / seen.sum(-1, keepdim=True) for each in (logs, scores))
    logs, scores = ((each - mean).where(seen, 0.0) for each, mean in zip((logs, scores), means, strict=True))
    scale = float((logs * scores).sum() / scores.square().sum())
    return (
        scale if float((scale * scores - logs).abs().max()) <= TOLERANCE * max(1.0, float(logs.abs().max())) else None
    )


def _norm(state: Tensor, output: Tensor, eps: float) -> tuple[float, Tensor, Tensor]:
    """How far an output is from LayerNorm of a state, relative to its largest value, with the best gain and bias."""
    normed, output = F.layer_norm(state.double(), state.shape[-1:], eps=eps), output.double()
    varied = normed - normed.mean(0)
    gain = (varied * output).sum(0) / varied.square().sum(0).clamp_min(1e-30)
    bias = output.mean(0) - gain * normed.mean(0)
    return float((normed * gain + bias - output).abs().max() / output.abs().max()), gain.float(), bias.float()


def _is_norm(state: Tensor, output: Tensor) -> bool:
    return min(_norm(state, output, eps)[0] for eps in EPSILONS) < 3 * TOLERANCE
