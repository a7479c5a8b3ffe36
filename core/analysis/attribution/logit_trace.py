"""Recording of the decoder's residual stream in one forward pass."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from core.analysis.linear_norm import centred, norm_bias, squared_scale
from core.capture import Kind
from core.hooks import removed_hooks
from core.model import FeedForward, MultiHeadAttention, Norm, Transformer
from core.results import Explanation
from core.translator import Translator

NORM = "_norm"  # suffix of the norm of a sub-layer: `layers.5.cross_attention_norm`


@dataclass(frozen=True)
class AttentionWrite:
    """Contribution of an attention sub-layer to the residual stream.

    Attributes:
        kind: `decoder_self` or `cross`.
        layer: counted from 0.
        weights: [H, T, K] attention weights.
        values: [H, K, d_v] values of the keys, x W_V + b_V.
        output_matrix: [D, H, d_v] W_O, the columns of each head.
        bias: [D] b_O.
    """

    kind: Kind
    layer: int
    weights: Tensor
    values: Tensor
    output_matrix: Tensor
    bias: Tensor


@dataclass(frozen=True)
class FeedForwardWrite:
    """Contribution of a feed-forward network to the residual stream.

    Attributes:
        layer: counted from 0.
        output: [T, D] without its bias.
        bias: [D] b_2.
    """

    layer: int
    output: Tensor
    bias: Tensor


@dataclass(frozen=True)
class FrozenNorm:
    """A norm on the residual stream with its scale held fixed.

    See `core.analysis.linear_norm`.

    Attributes:
        norm: the norm.
        layer: the layer to whose biases its own is added.
        gain, bias: [D]
        sigma: [T] standard deviation or root of the mean square (with epsilon) of each row in this pass.
    """

    norm: Norm
    layer: int
    gain: Tensor
    bias: Tensor
    sigma: Tensor

    def unscaled(self, vectors: Tensor) -> Tensor:
        """The linear part at a scale of 1: [..., D] -> [..., D]."""
        return self.gain * centred(self.norm, vectors)

    def transposed(self, direction: Tensor, row: int) -> Tensor:
        """The transpose of the linear part at one row, applied to a direction: [D] -> [D]."""
        return centred(self.norm, self.gain * direction) / self.sigma[row]  # subtracting a mean is its own transpose


@dataclass(frozen=True)
class LogitTrace:
    """The residual stream of a decoder on one sentence.

    What acts on the stream is in float64.

    Attributes:
        explanation: tokens, log-probabilities and attention of the same pass.
        source_ids, fed_ids, predicted_ids: S, T and T token ids.
        token_embedding: [T, D] embedding of the fed token, times sqrt(d_model).
        position_embedding: [T, D] everything else that enters the first layer.
        stream: writes and norms in the order in which they act on the stream.
        output_layer: has the matrix that reads logits from the last state.
        output_bias: [V] bias of the logits, zeros if there is none.
        logits: [T, V] logits of the model itself, in float32.
    """

    explanation: Explanation
    source_ids: tuple[int, ...]
    fed_ids: tuple[int, ...]
    predicted_ids: tuple[int, ...]
    token_embedding: Tensor
    position_embedding: Tensor
    stream: tuple[AttentionWrite | FeedForwardWrite | FrozenNorm, ...]
    output_layer: nn.Linear | nn.Embedding
    output_bias: Tensor
    logits: Tensor

    @property
    def num_layers(self) -> int:
        return len(self.explanation.maps["cross"])

    @property
    def unembedding(self) -> Tensor:
        """[V, D] the matrix that reads logits from the last state, in float32."""
        return self.output_layer.weight.float()


@dataclass(frozen=True)
class _Call:
    """A call of a module of the decoder, by its path.

    Inputs and output have no batch axis.
    """

    path: str
    module: nn.Module
    inputs: tuple[Any, ...]
    output: Tensor


@torch.inference_mode()
def trace_logits(translator: Translator, source: str, target: str | Sequence[int]) -> LogitTrace:
    """Replay a translation and record what each part adds to the residual stream.

    Post-norm layers (the paper's) and pre-norm layers are told apart by the order of the calls: a norm that runs after
    its sub-layer acts on the stream, one that runs before it only feeds the sub-layer.

    Args:
        source, target: as for `Translator.explain`.

    Raises:
        ValueError: as `Translator.explain`.
    """
    source_ids, fed, predicted = translator.token_ids(source, target)
    calls: list[_Call] = []
    with translator.inspect() as model:
        recorded = (MultiHeadAttention, FeedForward, Norm)
        modules = [(path, module) for path, module in model.decoder.named_modules() if isinstance(module, recorded)]
        with removed_hooks() as handles:
            for path, module in [*modules, ("", model.decoder)]:
                handles.append(module.register_forward_hook(_record(calls, path)))
            explanation = translator.explain(source, target)
        whole = calls.pop()  # the decoder itself ends last
        entered = whole.inputs[0][0].double()
        embedding, output_bias = model.fed_embedding, model.output_bias
        logits = model.project(whole.output).float()
        tokens = embedding.tokens(torch.tensor(fed, device=entered.device)).double() * embedding.scale
        return LogitTrace(
            explanation=explanation,
            source_ids=tuple(source_ids),
            fed_ids=tuple(fed),
            predicted_ids=tuple(predicted),
            token_embedding=tokens,
            position_embedding=entered - tokens,
            stream=_stream(model, calls, explanation),
            output_layer=model.output_layer,
            output_bias=torch.zeros_like(logits[0]) if output_bias is None else output_bias.float(),
            logits=logits,
        )


def _record(calls: list[_Call], path: str) -> Callable[[nn.Module, tuple[Any, ...], Tensor], None]:
    def hook(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        calls.append(_Call(path, module, inputs, output[0]))

    return hook


def _stream(
    model: Transformer, calls: Sequence[_Call], explanation: Explanation
) -> tuple[AttentionWrite | FeedForwardWrite | FrozenNorm, ...]:
    """Writes and norms on the residual stream, in their order."""
    found: list[AttentionWrite | FeedForwardWrite | FrozenNorm] = []
    ends = {"input_norm": 0, "output_norm": len(model.decoder.layers) - 1}
    sublayers = {call.path for call in calls if not isinstance(call.module, Norm)}
    seen: set[str] = set()
    for path, module, inputs, output in ((call.path, call.module, call.inputs, call.output) for call in calls):
        layer = ends[path] if path in ends else int(path.split(".")[1])
        match module:
            case MultiHeadAttention():
                kind: Kind = "cross" if path.endswith("cross_attention") else "decoder_self"
                weights = explanation.maps[kind][layer].weights.to(output.device).double()
                values = module.keys_values(inputs[1])[1][0].double()
                columns = module.out_proj.weight.double().unflatten(1, (module.num_heads, -1))
                found.append(AttentionWrite(kind, layer, weights, values, columns, _bias(module.out_proj)))
            case FeedForward():
                bias = _bias(module.outer)
                found.append(FeedForwardWrite(layer, output.double() - bias, bias))
            case nn.LayerNorm() | nn.RMSNorm():
                sublayer = path.removesuffix(NORM)
                if sublayer in seen or sublayer not in sublayers:  # after its sub-layer, or of none
                    entered = inputs[0][0].double()
                    sigma = squared_scale(module, entered)[..., 0].sqrt()
                    bias = norm_bias(module).double()
                    found.append(FrozenNorm(module, layer, module.weight.double(), bias, sigma))
            case _:
                raise AssertionError(path)
        seen.add(path)
    return tuple(found)


def _bias(module: nn.Linear) -> Tensor:
    """[D] bias in float64; zeros if there is none."""
    bias: Tensor | None = module.bias
    return module.weight.new_zeros(module.weight.size(0), dtype=torch.float64) if bias is None else bias.double()  # pyright: ignore[reportUnnecessaryComparison]
