"""A prediction without each layer of the model: the state that enters the layer passes it unchanged.

Layers of residual networks are removed so by Veit et al. 2016, "Residual Networks Behave Like Ensembles of Relatively
Shallow Networks": all the others stay as they are.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import pairwise

import torch
from torch import Tensor

from core.analysis.lens.decoder_lens import level_places
from core.analysis.removals import Removals, probability_of, token_instead
from core.analysis.subject import check_position
from core.text.phrases import Phrase
from core.trace import STACK_NAMES, STACKS, Edit, edit
from core.translator import Translator


@torch.inference_mode()
def layer_removals(translator: Translator, source: str, target: str | Sequence[int], position: int) -> Removals:
    """The probability of the predicted token at a position, counted from 0, without each layer of both stacks.

    Raises:
        ValueError: as `Translator.explain`, or there is no such position.
    """
    source_ids, fed, predicted = translator.token_ids(source, target)
    check_position(position, len(predicted))
    what = probability_of(translator, fed[: position + 1], predicted[position])
    with translator.inspect() as model, ExitStack() as skipped:
        layers = [
            (Phrase("{kind} {head}", kind=Phrase(STACK_NAMES[stack]), head=f"L{layer}"), places)
            for stack in STACKS
            for layer, places in enumerate(pairwise(level_places(model, stack)), start=1)
        ]
        for row, (_, places) in enumerate(layers):
            skipped.enter_context(edit(model, _skipping(row, *places)))
        ids = ([each] * (1 + len(layers)) for each in (source_ids, fed))
        logits = model(*map(translator.batch, ids))[:, position].float()
        *after, before = logits.softmax(-1)[:, predicted[position]].tolist()
    instead = token_instead(translator, logits[[after.index(min(after)), -1]], predicted[position])
    return Removals("layer", what, before, [name for name, _ in layers], after, instead)


def _skipping(row: int, entering: str, leaving: str) -> dict[str, Edit]:
    """Edits that pass the state of one row of a batch from a place to another."""
    states: list[Tensor] = []

    def passed(state: Tensor) -> Tensor:
        changed = state.clone()
        changed[row] = states.pop()
        return changed

    return {entering: lambda state: states.append(state[row]), leaving: passed}
