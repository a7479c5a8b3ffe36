"""Gradients of the output with respect to attention weights and heads."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from core.analysis.attribution.rollout import RolledMaps, row_shares
from core.analysis.subject import check_position
from core.capture import AttentionMap
from core.decoding import NonFiniteError
from core.trace import Head, Kind, attention_place, places, record
from core.translator import Translator


@dataclass(frozen=True)
class AttentionGradients:
    """Gradients of a sentence's log-probability with respect to attention weights."""

    maps: Mapping[Kind, Sequence[AttentionMap]]  # the attention weights, as in an explanation
    gradients: Mapping[Kind, Sequence[Tensor]]  # d log p / d a for each of them: [H, Q, K] per layer
    num_predicted: int  # number of tokens that log p is the sum over


def attention_gradients(
    translator: Translator, source: str, target: str | Sequence[int], positions: Collection[int] | None = None
) -> AttentionGradients:
    """Differentiate the log-probability of predicted tokens by all attention weights.

    Args:
        positions: from 0, of the predicted tokens whose log-probabilities are summed; None for all, `</s>` included and
            a forced first token left out.

    Raises:
        ValueError: as `Translator.explain`; no position is given, or one is out of range.
        NonFiniteError: a gradient is not finite.
    """
    source_ids, fed, predicted = translator.token_ids(source, target)
    if positions is None:
        positions = range(translator.codec.num_forced(predicted, source), len(predicted))
    explained = sorted(set(positions))
    if not explained:
        raise ValueError(
            f"no position of a predicted token is given: expected positions from 0 to {len(predicted) - 1}, or "
            f"None for all"
        )
    for position in explained:
        check_position(position, len(predicted))
    maps = translator.explain(source, target).maps
    # Only the forward pass holds the lock: the hooks are removed before the backward pass.
    with torch.inference_mode(False), torch.enable_grad():
        with translator.inspect() as model, record(model, places(model, "*_attention.weights")) as live:
            logits = model(translator.batch([source_ids]), translator.batch([fed]))[0]
        ids = torch.tensor(predicted, device=logits.device)[:, None]
        log_probs = logits.float().log_softmax(-1).gather(1, ids).squeeze(1)  # [T]
        of_weights = torch.autograd.grad(log_probs[explained].sum(), list(live.values()))
    if not all(gradient.isfinite().all() for gradient in of_weights):
        raise NonFiniteError("in the gradients of this target")
    gradients = {place: gradient[0].float().cpu() for place, gradient in zip(live, of_weights, strict=True)}
    by_kind: dict[Kind, list[Tensor]] = {
        kind: [gradients[attention_place(kind, each.layer, "weights")] for each in layers]
        for kind, layers in maps.items()
    }
    return AttentionGradients(maps, by_kind, len(explained))


def gradient_maps(gradients: AttentionGradients) -> RolledMaps:
    """Gradient x attention, (grad a * a)+, with normalised rows.

    One layer of Chefer et al. 2021: they average it over heads, E_h[(grad a * a)+], without normalising its rows, and
    add up its products with the relevance of the layers below, for the gradient of one output. Here each layer stands
    alone. Rows of zeros stay zero: no weight of theirs raised the log-probability.
    """
    return {
        kind: tuple(
            replace(layer, weights=row_shares((gradient * layer.weights).clamp(min=0)))
            for layer, gradient in zip(layers, gradients.gradients[kind], strict=True)
        )
        for kind, layers in gradients.maps.items()
    }


def head_importance(gradients: AttentionGradients) -> dict[Head, float]:
    """Importance |d loss / d g_h| at g = 1 of each head, in nats.

    After Michel et al. 2019: g_h is a gate on the head's output and the loss is -log p per token. The gate scales the
    head's weights, so by the chain rule d loss / d g = sum_ij a_ij * d loss / d a_ij. To compare heads of different
    layers, see `heads.ablation.normalised_by_layer`.
    """
    importance: dict[Head, float] = {}
    for kind, layers in gradients.maps.items():
        for layer, gradient in zip(layers, gradients.gradients[kind], strict=True):
            totals = (gradient * layer.weights).sum((-2, -1)).abs() / gradients.num_predicted  # [H]
            importance.update({Head(kind, layer.layer, head): float(total) for head, total in enumerate(totals)})
    return importance
