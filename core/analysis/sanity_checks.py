"""Checks that an explanation matches the model's computation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from core.analysis.heads.head import attention_layers
from core.capture import AttentionMap, attention_maps, attention_mask, capture_attention, full_mask
from core.decoding.text_codec import PassIds
from core.inference.model_check import LOG_PROB_TOLERANCE
from core.trace import KINDS, Kind
from core.translator import Explanation, ScoredText, Translator

SUM_TOLERANCE = 1e-4  # absolute, for row sums in float32 over some hundred keys
WEIGHT_TOLERANCE = 1e-3  # absolute, between two computations of an attention weight


@dataclass(frozen=True)
class Check:
    """Result of one check: display name, outcome, and the measured value."""

    name: str
    passed: bool
    detail: str


def check_maps(explanation: Explanation, neighbourhood: int | None = None) -> list[Check]:
    """Check that rows of attention sum to 1 and masked keys have no weight.

    Args:
        neighbourhood: r of a model whose self-attention is restricted to r positions (section 4); None if unrestricted.
    """
    maps = [layer for layers in explanation.maps.values() for layer in layers]
    error = max(float((layer.weights.sum(-1) - 1).abs().max()) for layer in maps)
    rows = sum(layer.num_heads * len(layer.query_tokens) for layer in maps)
    masked = max(_on_masked(layers, neighbourhood) for layers in explanation.maps.values())
    where = f"later or not among the {neighbourhood} nearest" if neighbourhood else "later"
    return [
        Check("rows sum to 1", error <= SUM_TOLERANCE, f"{rows} rows, off by at most {error:.1g}"),
        Check("masks respected", masked == 0, f"largest weight on a token that is {where}: {masked:.1g}"),
    ]


def _on_masked(layers: Sequence[AttentionMap], neighbourhood: int | None) -> float:
    """Largest weight of one kind of attention on a key that its query may not attend to."""
    queries, keys = layers[0].weights.shape[1:]
    restricted = attention_mask(layers[0].kind, keys, neighbourhood)
    may_see = full_mask(layers[0].kind, queries, keys) if restricted is None else restricted
    return max(float(layer.weights.masked_fill(may_see, 0.0).abs().max()) for layer in layers)


def check_explanation(
    translator: Translator, explanation: Explanation, hypothesis: ScoredText | None = None
) -> list[Check]:
    """Check an explanation against its model.

    Args:
        translator: holds the model, which is run twice.
        explanation: of `hypothesis` if given, otherwise of its own `target` text.
        hypothesis: the target that is explained, with its log-probabilities. Neither they nor the maps are compared
            with a replay if omitted.

    Returns:
        Those of `check_maps`, then: tokens match axes, replay equals page, fused equals explicit attention, no dropout.
    """
    return [
        *check_maps(explanation, translator.model.config.neighbourhood),
        *_check_model(translator, explanation, hypothesis),
    ]


def _check_model(translator: Translator, explanation: Explanation, hypothesis: ScoredText | None) -> Iterator[Check]:
    target = explanation.target if hypothesis is None else hypothesis.token_ids
    ids = translator.token_ids(explanation.source, target)
    with translator.shared.held() as model, torch.inference_mode():
        source, target_ids = translator.batch([ids.source]), translator.batch([ids.fed])
        fused = model(source, target_ids)[0].float().log_softmax(-1)
        with capture_attention(model) as captured:
            explicit = model(source, target_ids)[0].float().log_softmax(-1)
        training = sum(module.training for module in model.modules())
        shape = {key: module.num_heads for key, module in attention_layers(model).items()}
    yield _check_tokens(translator, explanation, ids, shape)
    if hypothesis is not None:
        # A search that reached its limit has no `</s>`, so the replay may be one token longer.
        replayed = explicit.gather(1, torch.tensor(ids.predicted, device=explicit.device)[:, None]).flatten().tolist()
        replayed = translator.codec.with_certain_first(replayed, ids.predicted, explanation.source)
        error = max(
            abs(ours - theirs)
            for log_probs in (hypothesis.token_log_probs, explanation.log_probs)
            for ours, theirs in zip(log_probs, replayed, strict=False)
        )
        tokens = explanation.source_tokens, explanation.fed_tokens, explanation.predicted_tokens
        maps = attention_maps(captured, translator.model.config, *tokens)
        of_weights = max(
            float((own.weights - layer.weights).abs().max())
            for kind, layers in explanation.maps.items()
            for own, layer in zip(maps[kind], layers, strict=True)
        )
        detail = f"{_differ('log-probabilities', error)}, attention weights by {of_weights:.1g}"
        passed = error <= LOG_PROB_TOLERANCE and of_weights <= WEIGHT_TOLERANCE
        yield Check("replay equals page", passed, detail)
    error = float((fused - explicit).abs().max())
    yield Check("fused equals explicit", error <= LOG_PROB_TOLERANCE, _differ("log-probabilities", error))
    yield Check("dropout off", training == 0, f"{training} modules are in training mode")


def _check_tokens(
    translator: Translator, explanation: Explanation, ids: PassIds, shape: dict[tuple[Kind, int], int]
) -> Check:
    """Compare the axes, layers and heads of all maps with the model and the text."""
    name = "tokens match axes"
    source, fed = translator.codec.source_pieces(ids.source), translator.codec.fed_pieces(ids.fed)
    predicted = translator.codec.pieces(ids.predicted)
    for axis, shown, expected in (
        ("source", explanation.source_tokens, source),
        ("fed", explanation.fed_tokens, fed),
        ("predicted", explanation.predicted_tokens, predicted),
    ):
        if shown != expected:
            return Check(name, False, f"the {axis} tokens are {' '.join(shown)}, expected {' '.join(expected)}")
    axes = {
        "encoder_self": (source, source, None),
        "decoder_self": (fed, fed, predicted),
        "cross": (fed, source, predicted),
    }
    for kind in KINDS:
        numbers = [layer for of, layer in shape if of == kind]
        if [layer.layer for layer in explanation.maps[kind]] != numbers:
            return Check(
                name,
                False,
                f"{kind} has maps of layers {[layer.layer for layer in explanation.maps[kind]]}, expected {numbers}",
            )
        for layer in explanation.maps[kind]:
            if (layer.query_tokens, layer.key_tokens, layer.predicted_tokens) != axes[kind]:
                return Check(name, False, f"the tokens of layer {layer.layer} of {kind} are not those of the sentence")
            if layer.num_heads != shape[kind, layer.layer]:
                return Check(
                    name,
                    False,
                    f"layer {layer.layer} of {kind} has {layer.num_heads} heads, expected {shape[kind, layer.layer]}",
                )
    return Check(name, True, f"{len(source)} source and {len(fed)} target tokens on {len(shape)} maps")


def _differ(what: str, error: float) -> str:
    return f"{what} differ by at most {error:.1g} nats"
