"""Attribution methods with one signature: (translator, source, target) -> maps."""

from collections.abc import Callable, Sequence
from typing import Literal

from core.analysis.attribution.alti import contribution_maps
from core.analysis.attribution.forward_trace import trace_forward
from core.analysis.attribution.gradients import attention_gradients, gradient_maps
from core.analysis.attribution.norms import norm_maps
from core.analysis.attribution.rollout import attention_rollout
from core.analysis.heads.head import Maps
from core.translator import Translator

Method = Literal["attention", "norms", "gradient", "rollout", "contributions", "rolled_contributions"]


def _attention(translator: Translator, source: str, target: str | Sequence[int]) -> Maps:
    return translator.explain(source, target).maps


def _norms(translator: Translator, source: str, target: str | Sequence[int]) -> Maps:
    return norm_maps(trace_forward(translator, source, target))


def _gradient(translator: Translator, source: str, target: str | Sequence[int]) -> Maps:
    return gradient_maps(attention_gradients(translator, source, target))


def _rollout(translator: Translator, source: str, target: str | Sequence[int]) -> Maps:
    return attention_rollout(translator.explain(source, target).maps)


def _contributions(translator: Translator, source: str, target: str | Sequence[int]) -> Maps:
    return contribution_maps(trace_forward(translator, source, target))[0]


def _rolled_contributions(translator: Translator, source: str, target: str | Sequence[int]) -> Maps:
    return contribution_maps(trace_forward(translator, source, target))[1]


# The first three have a map per head, the others one per layer. Rows need not sum to 1, see each method.
METHODS: dict[Method, Callable[[Translator, str, str | Sequence[int]], Maps]] = {
    "attention": _attention,
    "norms": _norms,
    "gradient": _gradient,
    "rollout": _rollout,
    "contributions": _contributions,
    "rolled_contributions": _rolled_contributions,
}


def attributed_maps(
    translator: Translator,
    source: str,
    target: str | Sequence[int],
    method: Method,
    output: Sequence[int] | None = None,
) -> Maps:
    """Maps of all layers by a method.

    Args:
        output: of the gradient, the positions of the predicted tokens whose log-probability it is of; None: all.
    """
    if output is None:
        return METHODS[method](translator, source, target)
    return gradient_maps(attention_gradients(translator, source, target, output))
