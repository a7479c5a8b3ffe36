"""Is what is shown what the model did? Checks made on the spot, each with the number it rests on."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from core.analysis.heads.head import attention_layers
from core.capture import KINDS, AttentionMap, Kind, attention_mask, capture_attention, full_mask
from core.translator import Explanation, ScoredText, Translator

SUM_TOLERANCE = 1e-4  # of a row's sum; float32 over some hundred keys
LOG_PROB_TOLERANCE = 1e-3  # of a token's log-probability between two ways to compute it, in nats


@dataclass(frozen=True)
class Check:
    """One thing that ought to hold: a name to show, whether it does, and what was found."""

    name: str
    passed: bool
    detail: str


def check_maps(explanation: Explanation, neighbourhood: int | None = None) -> list[Check]:
    """What an explanation shows by itself: rows sum to 1, and nothing looks at what is masked.

    Args:
        neighbourhood: r of a model whose self-attention is restricted to r positions (4); None: it sees all.
    """
    maps = [layer for layers in explanation.maps.values() for layer in layers]
    error = max(float((layer.weights.sum(-1) - 1).abs().max()) for layer in maps)
    rows = sum(layer.num_heads * len(layer.query_tokens) for layer in maps)
    masked = max(_on_masked(layer, neighbourhood) for layer in maps)
    where = f"yet to come or outside the {neighbourhood} nearest" if neighbourhood else "yet to come"
    return [
        Check("rows sum to 1", error <= SUM_TOLERANCE, f"{rows} rows, off by at most {error:.1g}"),
        Check("masks respected", masked == 0, f"the greatest weight on a token {where} is {masked:.1g}"),
    ]


def _on_masked(layer: AttentionMap, neighbourhood: int | None) -> float:
    """The greatest weight of a map on what its queries may not see."""
    queries, keys = layer.weights.shape[1:]
    restricted = attention_mask(layer.kind, keys, neighbourhood)
    may_see = full_mask(layer.kind, queries, keys) if restricted is None else restricted
    return float(layer.weights.masked_fill(may_see, 0.0).abs().max())


def check_explanation(
    translator: Translator, explanation: Explanation, hypothesis: ScoredText | None = None
) -> list[Check]:
    """Check an explanation against the model that it is said to be of.

    Args:
        translator: the model, which is run twice.
        explanation: of `hypothesis` if there is one, otherwise of its own `target` text.
        hypothesis: what the search found and the explanation replays; without it, or if the translator searches in
            reduced precision, that is not checked.

    Returns:
        The checks of `check_maps`; then whether tokens match axes, replay equals search, fused equals explicit
        attention, and dropout is off.
    """
    return [
        *check_maps(explanation, translator.model.config.neighbourhood),
        *_check_model(translator, explanation, hypothesis),
    ]


def _check_model(translator: Translator, explanation: Explanation, hypothesis: ScoredText | None) -> Iterator[Check]:
    target = explanation.target if hypothesis is None else hypothesis.token_ids
    source_ids, fed, predicted = translator.token_ids(explanation.source, target)
    with translator.inspect() as model, torch.inference_mode():
        source, target_ids = translator.batch([source_ids]), translator.batch([fed])
        fused = model(source, target_ids)[0].float().log_softmax(-1)
        with capture_attention(model):
            explicit = model(source, target_ids)[0].float().log_softmax(-1)
        training = sum(module.training for module in model.modules())
        shape = {key: module.num_heads for key, module in attention_layers(model).items()}
    yield _check_tokens(translator, explanation, (source_ids, fed, predicted), shape)
    if hypothesis is not None and translator.precision == "exact":
        # A search that ran into its limit has no `</s>`, so the replay may be one token longer.
        pairs = zip(hypothesis.token_log_probs, explanation.log_probs, strict=False)
        error = max((abs(searched - replayed) for searched, replayed in pairs), default=0.0)
        yield Check("replay equals search", error <= LOG_PROB_TOLERANCE, _differ("log-probabilities", error))
    error = float((fused - explicit).abs().max())
    yield Check("fused equals explicit", error <= LOG_PROB_TOLERANCE, _differ("log-probabilities", error))
    yield Check("dropout off", training == 0, f"{training} modules are in training mode")


def _check_tokens(
    translator: Translator,
    explanation: Explanation,
    ids: tuple[list[int], list[int], list[int]],
    shape: dict[tuple[Kind, int], int],
) -> Check:
    """The tokens are those of the text, every map has them on its axes, and no layer or head is missing or in
    another's place.
    """
    name = "tokens match axes"
    source, fed, predicted = map(translator.pieces, ids)
    for axis, shown, expected in (
        ("source", explanation.source_tokens, source),
        ("fed", explanation.fed_tokens, fed),
        ("predicted", explanation.predicted_tokens, predicted),
    ):
        if shown != expected:
            return Check(
                name, False, f"the {axis} tokens are {' '.join(shown)}, the model was given {' '.join(expected)}"
            )
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
                f"{kind} shows layers {[layer.layer for layer in explanation.maps[kind]]}, the model has {numbers}",
            )
        for layer in explanation.maps[kind]:
            if _axes(layer) != axes[kind]:
                return Check(name, False, f"layer {layer.layer} of {kind} has other tokens than the sentence")
            if layer.num_heads != shape[kind, layer.layer]:
                return Check(
                    name,
                    False,
                    f"layer {layer.layer} of {kind} shows {layer.num_heads} heads, the model has "
                    f"{shape[kind, layer.layer]}",
                )
    return Check(name, True, f"{len(source)} source and {len(fed)} target tokens on {len(shape)} maps")


def _axes(layer: AttentionMap) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...] | None]:
    return layer.query_tokens, layer.key_tokens, layer.predicted_tokens


def _differ(what: str, error: float) -> str:
    return f"{what} differ by at most {error:.1g} nats"
