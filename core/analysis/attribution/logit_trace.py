"""Recording of the decoder's residual stream in one forward pass."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from core.analysis.attribution.forward_trace import require_weighted_sums
from core.analysis.heads.head import attention_layers, constant_outputs, head_matrices, key_outputs
from core.analysis.linear_norm import FrozenNorm, frozen
from core.model import MultiHeadAttention, Norm, Transformer
from core.results import Explanation
from core.trace import SUBLAYERS, Kind, attention_place, places, record
from core.translator import Translator


@dataclass(frozen=True)
class AttentionWrite:
    """Contribution of an attention sub-layer to the residual stream."""

    kind: Kind  # `decoder_self` or `cross`
    layer: int  # counted from 0
    weights: Tensor  # [H, T, K] attention weights
    values: Tensor  # [H, K, d_v] values of the keys, x W_V + b_V
    output_matrix: Tensor  # [D, H, d_v] W_O, the columns of each head
    bias: Tensor  # [D] b_O


@dataclass(frozen=True)
class FeedForwardWrite:
    """Contribution of a feed-forward network to the residual stream."""

    layer: int  # counted from 0
    output: Tensor  # [T, D] without its bias
    bias: Tensor  # [D] b_2


@dataclass(frozen=True)
class LogitTrace:
    """The residual stream of a decoder on one sentence, with writes and norms in float64."""

    explanation: Explanation  # tokens, log-probabilities and attention of the sentence
    source_ids: tuple[int, ...]  # S token ids
    fed_ids: tuple[int, ...]  # T token ids
    predicted_ids: tuple[int, ...]  # T token ids
    token_embedding: Tensor  # [T, D] embedding of the fed token, times sqrt(d_model)
    position_embedding: Tensor  # [T, D] everything else that enters the first layer
    stream: tuple[AttentionWrite | FeedForwardWrite | FrozenNorm, ...]  # in the order in which they act
    output_layer: nn.Linear | nn.Embedding  # has the matrix that reads logits from the last state
    output_bias: Tensor  # [V] bias of the logits, zeros if there is none
    logits: Tensor  # [T, V] logits of the model itself, in float32
    piece: Callable[[int], str]  # piece of the target vocabulary by its id

    @property
    def num_layers(self) -> int:
        return len(self.explanation.maps["cross"])

    @property
    def unembedding(self) -> Tensor:
        """[V, D] the matrix that reads logits from the last state, in float32."""
        return self.output_layer.weight.float()


@torch.inference_mode()
def trace_logits(
    translator: Translator, source: str, target: str | Sequence[int], explanation: Explanation | None = None
) -> LogitTrace:
    """Replay a translation and record the vector that each part adds to the residual stream.

    Args:
        explanation: of this source and target by `Translator.explain`; None: it is computed.

    Raises:
        ValueError: as `Translator.explain`.
        DisagreementError: as `_stream`.
    """
    source_ids, fed, predicted = translator.token_ids(source, target)
    with translator.inspect() as model:
        wanted = ["decoder.input", "decoder.output", "decoder.0.self_attention.residual_before"]
        for each in ("memory", "heads", "output", "norm_input", "norm_output", "residual_after"):
            wanted += [place for place in places(model, f"decoder.*.{each}") if place.count(".") == 3]
        with record(model, wanted) as recorded:
            if explanation is None:
                explanation = translator.explain(source, target)
            else:
                model(translator.batch([source_ids]), translator.batch([fed]))
        values = {place: value[0] for place, value in recorded.items()}
        entered = values["decoder.input"].double()
        embedding, output_bias = model.fed_embedding, model.output_bias
        logits = model.project(values["decoder.output"]).float()
        tokens = embedding.tokens(torch.tensor(fed, device=entered.device)).double() * embedding.scale
        return LogitTrace(
            explanation=explanation,
            source_ids=tuple(source_ids),
            fed_ids=tuple(fed),
            predicted_ids=tuple(predicted),
            token_embedding=tokens,
            position_embedding=entered - tokens,
            stream=tuple(_stream(model, values, explanation)),
            output_layer=model.output_layer,
            output_bias=torch.zeros_like(logits[0]) if output_bias is None else output_bias.float(),
            logits=logits,
            piece=translator.tokenizer.target.piece,
        )


def _stream(
    model: Transformer, values: Mapping[str, Tensor], explanation: Explanation
) -> Iterator[AttentionWrite | FeedForwardWrite | FrozenNorm]:
    """Writes and norms on the residual stream, in their order.

    Norms of pre-norm layers are not on the stream: each feeds its sub-layer. The decoder's `values` have no batch axis.
    """
    keys: list[tuple[Kind, int]] = [(kind, layer) for kind, layer in attention_layers(model) if kind != "encoder_self"]
    own = key_outputs(model, {key: values[attention_place(*key, "memory")][None] for key in keys})
    constants, last = constant_outputs(model, "decoder"), len(model.decoder.layers) - 1
    if isinstance(model.decoder.input_norm, Norm):
        entered = values["decoder.0.self_attention.residual_before"]
        yield frozen(model.decoder.input_norm, 0, values["decoder.input"], entered)
    for layer, block in enumerate(model.decoder.layers):
        for name in SUBLAYERS["decoder"]:
            path, sublayer = f"decoder.{layer}.{name}", block.get_submodule(name)
            if isinstance(sublayer, MultiHeadAttention):
                kind: Kind = "cross" if name == "cross_attention" else "decoder_self"
                of_keys, heads = own[kind, layer][0].double(), values[f"{path}.heads"]
                weights = explanation.maps[kind][layer].weights.to(of_keys)
                require_weighted_sums(f"{path}.heads", weights, of_keys, heads)
                columns = head_matrices(sublayer).double()
                yield AttentionWrite(kind, layer, weights, of_keys, columns, constants[path].double())
            else:
                bias = constants[path].double()
                yield FeedForwardWrite(layer, values[f"{path}.output"].double() - bias, bias)
            if model.config.norm == "post":
                norm = block.get_submodule(f"{name}_norm")
                assert isinstance(norm, Norm)
                yield frozen(norm, layer, *(values[f"{path}.norm_{each}"] for each in ("input", "output")))
    if isinstance(model.decoder.output_norm, Norm):
        left = values[f"decoder.{last}.feed_forward.residual_after"]
        yield frozen(model.decoder.output_norm, last, left, values["decoder.output"])
