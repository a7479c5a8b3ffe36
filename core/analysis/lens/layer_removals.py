"""A prediction without each layer of the model: the state that enters the layer passes it unchanged.

Layers of residual networks are removed so by Veit et al. 2016, "Residual Networks Behave Like Ensembles of Relatively
Shallow Networks": all the others stay as they are.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch

from core.analysis.lens.level_states import level_places
from core.analysis.removals import Removals, probability_of
from core.analysis.subject import check_position
from core.analysis.tokens.words import readable
from core.text.phrases import Phrase
from core.trace import STACK_NAMES, STACKS, edit
from core.translator import Translator


@torch.inference_mode()
def layer_removals(translator: Translator, source: str, target: str | Sequence[int], position: int) -> Removals:
    """The probability of the predicted token at a position, counted from 0, without each layer of both stacks.

    Raises:
        ValueError: as `Translator.explain`, or there is no such position.
    """
    source_ids, fed, predicted = translator.token_ids(source, target)
    check_position(position, len(predicted))
    what = probability_of(readable(translator.codec.piece(predicted[position])))
    with translator.inspect() as model:

        def probability() -> float:
            logits = model(translator.batch([source_ids]), translator.batch([fed]))[0, position]
            return float(logits.float().softmax(-1)[predicted[position]])

        names, after = list[str](), list[float]()
        for stack in STACKS:
            for layer, (entering, leaving) in enumerate(pairwise(level_places(model, stack)), start=1):
                states: list[torch.Tensor] = []
                with edit(model, {entering: states.append, leaving: lambda _, states=states: states.pop()}):
                    after.append(probability())
                names.append(Phrase("{kind} {head}", kind=Phrase(STACK_NAMES[stack]), head=f"L{layer}"))
        return Removals("layer", what, probability(), names, after)
