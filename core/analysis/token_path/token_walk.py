"""One token followed through the model with this sentence's own numbers.

Every number is computed again in float64 from the formulas of the paper's section 3, from the parameters and the states
that enter the layer, and compared with the model's own pass.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from core.analysis.agreement import require_agreement
from core.analysis.attribution.forward_trace import added_bias
from core.analysis.attribution.read_stream import exact
from core.analysis.linear_norm import norm_bias
from core.analysis.relative_scores import relative_scores
from core.analysis.token_path import steps
from core.capture import attention_path
from core.model import FeedForward, MultiHeadAttention, Norm, Transformer
from core.trace import SUBLAYERS, Kind, Stack, places, record
from core.translator import Translator

COUNT = 10  # most probable tokens of the output


@torch.inference_mode()
def follow_token(
    translator: Translator,
    source: str,
    target: str | Sequence[int],
    stack: Stack,
    position: int,
    layer: int,
    head: int,
    count: int = COUNT,
) -> steps.TokenPath:
    """Follow a source token through the encoder, or a fed one through the decoder.

    Post-norm (the paper's) and pre-norm layers each go in their own order. Positions, layers and heads are counted
    from 0; `count` is the number of most probable tokens to return.

    Raises:
        ValueError: as `Translator.explain`; or there is no such position, layer or head.
        DisagreementError: the formulas do not give the model's own numbers.
    """
    source_ids, fed, predicted = translator.token_ids(source, target)
    ids = source_ids if stack == "encoder" else fed
    with translator.inspect() as model:
        _require("position", position, len(ids), f"tokens of the {stack}")
        layers: nn.ModuleList = model.get_submodule(stack).layers  # type: ignore[assignment]
        _require("layer", layer, len(layers), f"layers of the {stack}")
        first = model.get_submodule(attention_path("encoder_self" if stack == "encoder" else "decoder_self", layer))
        assert isinstance(first, MultiHeadAttention)
        _require("head", head, first.num_heads, f"heads of the {stack}")
        with record(model, _recorded_places(model, stack, layer)) as values:
            explanation = translator.explain(source, target)
        own = {place: exact(value[0]) for place, value in values.items()}
        walk = _Walk(model, stack, position, layer, head, own)
        state = walk.run(ids[position])
        if stack == "decoder":
            logits = exact(model.project(own["decoder.output"][position].to(model.unembedding)))
            walk.parts["output"] = output = _output(model, state, logits, predicted[position], count)
            walk.compare("output", "logits", output.logits, logits[list(output.token_ids)])
            log_prob = output.logits[output.predicted] - output.log_sum
            if position >= explanation.num_forced:
                walk.compare("output", "log_prob", log_prob, torch.tensor(explanation.log_probs[position]))
    return steps.TokenPath(stack, position, layer, head, len(layers), explanation, walk.parts, state, walk.differences)


def _recorded_places(model: Transformer, stack: Stack, layer: int) -> list[str]:
    """Places that the walk is compared with: the ends of the stack, and all values of the layer."""
    last = len(model.encoder.layers if stack == "encoder" else model.decoder.layers) - 1
    return [
        f"{stack}.input",
        f"{stack}.0.self_attention.residual_before",
        *(place for place in places(model, f"{stack}.{layer}.*") if place.count(".") == 3),
        f"{stack}.{last}.feed_forward.residual_after",
        f"{stack}.output",
    ]


def _require(name: str, value: int, count: int, things: str) -> None:
    if not 0 <= value < count:
        raise ValueError(f"{name} ({value}) must be from 0 to {count - 1}: there are {count} {things}, counted from 0")


@dataclass
class _Walk:
    """The steps of one token, one after the other, each compared with the model's own values."""

    model: Transformer
    stack: Stack
    position: int
    layer: int
    head: int
    own: dict[str, Tensor]  # of the recorded places, in float64
    parts: dict[str, steps.Steps] = field(default_factory=dict[str, steps.Steps])
    differences: dict[str, float] = field(default_factory=dict[str, float])

    def run(self, token_id: int) -> Tensor:
        """Walk from the token's id to the last state [D] of the stack."""
        model, first = self.model, f"{self.stack}.0.self_attention.residual_before"
        embedding = model.embedding if self.stack == "encoder" else model.fed_embedding
        row, scale = exact(embedding.tokens.weight[token_id]), embedding.scale
        place = exact(embedding.positions(self.position, self.position + 1)[0])
        state = row * scale + place
        position = None if model.config.relative else place
        self.parts["embedding"] = steps.EmbeddingSteps(row, scale, row * scale, position, state)
        self.compare("embedding", "total", state, self._own(f"{self.stack}.input"))
        state = self._norm_of_stack("input_norm", first, state)
        if self.layer:
            entered, state = state, self._own(self._place("self_attention", "residual_before"))
            self.parts["layers_below"] = steps.StackSteps(0, self.layer - 1, entered, state)
        state = self._layer(state)
        num_layers = len(model.get_submodule(self.stack).layers)  # type: ignore[arg-type]
        left = self._own(f"{self.stack}.{num_layers - 1}.feed_forward.residual_after")
        if self.layer < num_layers - 1:
            self.compare("layers_above", "before", state, self._own(self._place("feed_forward", "residual_after")))
            before, state = state, left
            self.parts["layers_above"] = steps.StackSteps(self.layer + 1, num_layers - 1, before, state)
        else:
            self.compare("layer", "output", state, left)
        return self._norm_of_stack("output_norm", f"{self.stack}.output", state)

    def _place(self, sublayer: str, value: str) -> str:
        return f"{self.stack}.{self.layer}.{sublayer}.{value}"

    def _own(self, place: str) -> Tensor:
        """The model's own value at this position."""
        return self.own[place][self.position]

    def compare(self, part: str, quantity: str, computed: Tensor, own: Tensor) -> None:
        """Record how far a quantity is from the model's own, see `TokenPath.differences`.

        Raises:
            DisagreementError: further than rounding explains.
        """
        name, largest = f"{part}.{quantity}", max(1.0, float(own.abs().max()))
        self.differences[name] = require_agreement(name, computed, own, 3, largest) / largest

    def _norm_of_stack(self, name: str, after: str, x: Tensor) -> Tensor:
        """The state after a norm of the stack, the value of a place; the same if it has none."""
        norm = self.model.get_submodule(f"{self.stack}.{name}")
        return self._norm(name, norm, after, x) if isinstance(norm, Norm) else x

    def _norm(self, part: str, norm: Norm, after: str, x: Tensor) -> Tensor:
        """The output of a norm, the value of the place `after`."""
        kind, epsilon = self.model.config.norm_kind, self.model.config.norm_eps
        mean = x.mean() if kind == "layer" else torch.zeros_like(x[0])
        variance = (x - mean).square().mean()
        normalised = (x - mean) / (variance + epsilon).sqrt()
        gain, bias = exact(norm.weight), exact(norm_bias(norm))
        output = normalised * gain + bias
        self.parts[part] = steps.NormSteps(
            kind, x, float(mean), float(variance), epsilon, normalised, gain, bias, output
        )
        self.compare(part, "output", output, self._own(after))
        return output

    def _layer(self, state: Tensor) -> Tensor:
        """The state after the layer."""
        own: Kind = "encoder_self" if self.stack == "encoder" else "decoder_self"
        kinds: dict[str, Kind] = {"self_attention": own, "cross_attention": "cross"}
        norm_first = self.model.config.norm == "pre"
        layer = self.model.get_submodule(f"{self.stack}.layers.{self.layer}")
        for name in SUBLAYERS[self.stack]:
            sublayer, norm = layer.get_submodule(name), layer.get_submodule(f"{name}_norm")
            assert isinstance(norm, Norm)
            part, carried, after = kinds.get(name, name), state, self._place(name, "norm_output")
            if norm_first:
                state = self._norm(f"{part}_norm", norm, after, state)
            if isinstance(sublayer, MultiHeadAttention):
                added = self._attention(kinds[name], name, sublayer, state)
            else:
                assert isinstance(sublayer, FeedForward)
                added = self._feed_forward(sublayer, state)
            state = carried + added
            self.parts[f"{part}_residual"] = steps.ResidualSteps(carried, added, state)
            if not norm_first:
                self.compare(f"{part}_residual", "total", state, self._own(self._place(name, "norm_input")))
                state = self._norm(f"{part}_norm", norm, after, state)
        return state

    def _attention(self, part: Kind, name: str, attention: MultiHeadAttention, x: Tensor) -> Tensor:
        at, prefix = self.position, self._place(name, "")
        own = {place.removeprefix(prefix): value for place, value in self.own.items() if place.startswith(prefix)}
        memory = own["memory"]

        def projected(layer: nn.Linear, inputs: Tensor) -> Tensor:
            """[..., D] -> [H, ..., E]."""
            return _linear(layer, inputs).unflatten(-1, (attention.num_heads, -1)).movedim(-2, 0)

        queries = projected(attention.q_proj, x)  # [H, d_k]
        keys, values = projected(attention.k_proj, memory), projected(attention.v_proj, memory)  # [H, K, E]
        products = queries[:, None] * keys  # [H, K, d_k]
        undivided, relative = products.sum(-1), None  # [H, K]
        scores = undivided / math.sqrt(queries.size(-1))
        if (of_distances := relative_scores(self.model, part, self.layer, len(memory))) is not None:
            relative = of_distances[:, at]
            scores, undivided = scores + relative, undivided + relative
        own_scores, own_weights = own["scores"][:, at], own["weights"][:, at]  # [H, K]
        allowed = own_scores[0] > -math.inf
        masked, masked_undivided = (each.masked_fill(~allowed, -math.inf) for each in (scores, undivided))
        exponentials = (masked - masked.max(-1, keepdim=True).values).exp()
        weights, undivided_weights = exponentials / exponentials.sum(-1, keepdim=True), masked_undivided.softmax(-1)
        weighted = weights[..., None] * values  # [H, K, d_v]
        heads = weighted.sum(1)  # [H, d_v]
        output = _linear(attention.out_proj, heads.flatten())
        for quantity, computed, of_model in (
            ("query", queries, own["queries"][:, at]),
            ("keys", keys, own["keys"]),
            ("values", values, own["values"]),
            ("scores", scores[:, allowed], own_scores[:, allowed]),
            ("weights", weights, own_weights),
            ("heads", heads, own["heads"][:, at]),
            ("output", output, own["output"][at]),
        ):
            self.compare(part, quantity, computed, of_model)
        self.parts[part] = steps.AttentionSteps(
            kind=part,
            head=self.head,
            x=x,
            query=queries[self.head],
            keys=keys[self.head],
            products=products[self.head],
            relative=None if relative is None else relative[self.head],
            scores=scores[self.head],
            allowed=allowed,
            exponentials=exponentials[self.head],
            weights=weights[self.head],
            gradients=(weights * (1 - weights))[self.head],
            undivided=undivided[self.head],
            undivided_weights=undivided_weights[self.head],
            undivided_gradients=(undivided_weights * (1 - undivided_weights))[self.head],
            values=values[self.head],
            weighted=weighted[self.head],
            head_output=heads[self.head],
            heads=heads,
            output=output,
        )
        return output

    def _feed_forward(self, network: FeedForward, x: Tensor) -> Tensor:
        inner, multiplier = _linear(network.inner, x), None
        hidden = network.activation(inner)
        if network.multiplier is not None:
            multiplier = _linear(network.multiplier, x)
            hidden = hidden * multiplier
        output = _linear(network.outer, hidden)
        for quantity, computed in (("inner", inner), ("hidden", hidden), ("output", output)):
            self.compare("feed_forward", quantity, computed, self._own(self._place("feed_forward", quantity)))
        self.parts["feed_forward"] = steps.FeedForwardSteps(x, inner, multiplier, hidden, output)
        return output


def _linear(layer: nn.Linear, x: Tensor) -> Tensor:
    """x W + b in float64: [..., inputs] -> [..., outputs]."""
    return x @ exact(layer.weight).T + exact(added_bias(layer))


def _output(model: Transformer, state: Tensor, own: Tensor, predicted: int, count: int) -> steps.OutputSteps:
    """Logits of the tokens that are most probable by the model's own, [V], and of the predicted one."""
    token_ids = own.topk(min(count, len(own))).indices.tolist()
    if predicted not in token_ids:
        token_ids.append(predicted)
    vectors = exact(model.unembedding[token_ids])
    logits = vectors @ state
    if model.output_bias is not None:
        logits = logits + exact(model.output_bias[token_ids])
    log_sum = float(own.logsumexp(-1))
    return steps.OutputSteps(
        state=state,
        token_ids=tuple(token_ids),
        vectors=vectors,
        logits=logits,
        log_sum=log_sum,
        probabilities=(logits - log_sum).exp(),
        predicted=token_ids.index(predicted),
        rank=1 + int((own > own[predicted]).sum()),
    )
