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


Attribution = Callable[[Translator, str, str | Sequence[int]], Maps]

# The first three have a map per head, the others one per layer. Rows need not sum to 1, see each method.
METHODS: dict[Method, Attribution] = {
    "attention": lambda *sentence: sentence[0].explain(*sentence[1:]).maps,
    "norms": lambda *sentence: norm_maps(trace_forward(*sentence)),
    "gradient": lambda *sentence: gradient_maps(attention_gradients(*sentence)),
    "rollout": lambda *sentence: attention_rollout(METHODS["attention"](*sentence)),
    "contributions": lambda *sentence: contribution_maps(trace_forward(*sentence))[0],
    "rolled_contributions": lambda *sentence: contribution_maps(trace_forward(*sentence))[1],
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
