"""Greedy search for a small set of cut weights that changes a predicted token.

The margin of a predicted token is its logit minus the largest other one that a search may generate. Each round

1. estimates, to first order, how much every single weight would lower the margin if it were cut. With the gradient g of
   the margin by the weights a of a row: -a_k g_k, and where the row is renormalised also
   a_k / (1 - a_k) * sum over j != k of a_j g_j;
2. tries the best estimates in the model, and keeps the cut with the lowest margin,

until the margin is negative: another token is more probable. Then cuts that turn out not to be needed are taken back.
The set that is left changes the token, and no cut can be left out of it. A smaller one of other weights may exist: a
search for it would have to try all sets.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import torch
from torch import Tensor

from core.analysis.interventions.cuts import Cut, cut_attention, cut_translator
from core.analysis.subject import check_position
from core.capture import attention_path, capture_attention
from core.trace import Head, Kind
from core.translator import Translator

MAX_CUTS = 40
TRIED = 16  # cuts tried in the model in each round


@dataclass(frozen=True)
class CutSearch:
    """State of a search after one round."""

    cuts: tuple[Cut, ...]  # in the order in which they were found
    margin: float  # logit of the predicted token minus the largest other one
    winner: int  # id of the most probable token
    is_minimal: bool = False  # whether it is finished: the token has changed, and no cut can be left out

    @property
    def has_changed(self) -> bool:
        """Whether another token is more probable than the predicted one."""
        return self.margin < 0


def find_cuts(
    translator: Translator,
    source: str,
    target: str | Sequence[int],
    position: int,
    kinds: Sequence[Kind] = ("cross",),
    renormalise: bool = True,
    max_cuts: int = MAX_CUTS,
) -> Iterator[CutSearch]:
    """Search for few weights that change a predicted token when cut, see the module docstring.

    Tokens before its position, from 0, stay. The model's lock is released between rounds. Stop iterating to cancel.

    Yields:
        A state after each round, the last one minimal if the token has changed. If no cut lowers the margin any more or
        there are `max_cuts`, the last state has not changed.

    Raises:
        ValueError: as `Translator.explain`; there is no such position, or the token is not the most probable.
    """
    source_ids, fed, predicted = translator.token_ids(source, target)
    check_position(position, len(predicted))
    goal = _Goal(translator, source_ids, fed[: position + 1], predicted[position])
    (state,) = goal.measured([()])
    if state.has_changed:
        raise ValueError(
            f"token {position + 1} is not the most probable one here, so no cut is needed to change it: choose another"
        )
    while not state.has_changed:
        tried = [(*state.cuts, cut) for cut in goal.candidates(state.cuts, kinds, renormalise)]
        best = min(goal.measured(tried), key=attrgetter("margin"), default=state)
        if best.margin >= state.margin or len(best.cuts) > max_cuts:
            return
        state = best
        yield state
    while True:
        fewer = [state.cuts[:index] + state.cuts[index + 1 :] for index in range(len(state.cuts))]
        best = min(goal.measured(fewer), key=attrgetter("margin"))
        if not best.has_changed:
            yield replace(state, is_minimal=True)
            return
        state = best
        yield state


@dataclass(frozen=True)
class _Goal:
    """A predicted token whose margin is measured under cuts."""

    translator: Translator
    source_ids: list[int]
    fed: list[int]
    token: int

    @torch.inference_mode()
    def measured(self, tried: Sequence[Sequence[Cut]]) -> list[CutSearch]:
        """The margin under each of several lists of cuts, as rows of batches."""
        results: list[CutSearch] = []
        for start in range(0, len(tried), TRIED):
            block = tried[start : start + TRIED]
            with cut_translator(self.translator, *block) as model:
                source_ids = self.translator.batch([self.source_ids] * len(block))
                states = model.decode(
                    self.translator.batch([self.fed] * len(block)),
                    model.encode(source_ids),
                    model.source_mask(source_ids),
                )
                logits = self.translator.setup.generated(model.project(states[:, -1]))
            numbers = zip(block, self._margins(logits).tolist(), logits.argmax(-1).tolist(), strict=True)
            results += [CutSearch(tuple(cuts), margin, winner) for cuts, margin, winner in numbers]
        return results

    def candidates(self, cuts: Sequence[Cut], kinds: Sequence[Kind], renormalise: bool) -> list[Cut]:
        """Single weights whose cut lowers the margin most, to first order."""
        live: dict[str, Tensor] = {}

        def keep(path: str, weights: Tensor) -> None:
            live[path] = weights if weights.requires_grad else weights.requires_grad_()

        with torch.inference_mode(False), torch.enable_grad():
            with self.translator.inspect() as model, cut_attention(model, cuts), capture_attention(model, keep):
                logits = model(self.translator.batch([self.source_ids]), self.translator.batch([self.fed]))[:, -1]
            places: list[tuple[Kind, int]] = [(kind, layer) for kind in kinds for layer in range(len(live))]
            wanted = {place: live[attention_path(*place)] for place in places if attention_path(*place) in live}
            margin = self._margins(self.translator.setup.generated(logits)).sum()
            gradients = torch.autograd.grad(margin, list(wanted.values()))
        known = {(cut.head, cut.rows, cut.keys) for cut in cuts}
        estimates: list[tuple[float, Cut]] = []
        for (kind, layer), weights, gradient in zip(wanted, wanted.values(), gradients, strict=True):
            effect = first_order_effects(weights.detach()[0], gradient[0], renormalise)  # [H, Q, K]
            values, flat = effect.flatten().topk(min(TRIED + len(cuts), effect.numel()), largest=False)
            for value, place in zip(values.tolist(), flat.tolist(), strict=True):
                head, rest = divmod(place, effect[0].numel())
                row, key = divmod(rest, effect.size(-1))
                cut = Cut(Head(kind, layer, head), range(row, row + 1), range(key, key + 1), renormalise=renormalise)
                if value < 0 and (cut.head, cut.rows, cut.keys) not in known:
                    estimates.append((value, cut))
        return [cut for _, cut in sorted(estimates, key=lambda each: each[0])[:TRIED]]

    def _margins(self, logits: Tensor) -> Tensor:
        """Logit of the token minus the largest other one: [B, V] -> [B]."""
        others = torch.arange(logits.size(-1), device=logits.device) != self.token
        return logits[:, self.token] - logits[:, others].amax(-1)


def first_order_effects(weights: Tensor, gradient: Tensor, renormalise: bool) -> Tensor:
    """Change of an output by cutting each weight alone, to first order, from its gradient: all are [H, Q, K]."""
    products = weights * gradient
    if not renormalise:
        return -products
    others = products.sum(-1, keepdim=True) - products
    return weights / (1 - weights).clamp(min=1e-6) * others - products
