"""The uses of a weight of every kind beside PyTorch's backpropagation, in float64."""

import copy
from contextlib import ExitStack

import pytest
import torch
from torch.nn import functional as F

from core.analysis.training_step.weight_gradient import layer_of, weight_uses
from core.text.tokenizer import SentencePieceTokenizer
from core.trace import record_calls
from tests.core.analysis.conftest import SOURCE, TARGET, random_translator
from tests.core.analysis.training_step.test_training_step import VARIANTS, weights_of


@pytest.mark.parametrize("variant", ["pre", "bias", "t5", "near"])  # between them they have every kind of weight
def test_the_products_of_the_uses_sum_to_the_gradient(tokenizer: SentencePieceTokenizer, variant: str) -> None:
    translator = random_translator(tokenizer, **VARIANTS[variant])
    model = copy.deepcopy(translator.model).double().eval().requires_grad_(True)
    source, fed, predicted = (torch.tensor([ids]) for ids in translator.token_ids(SOURCE, TARGET))
    names = weights_of(model)
    parameters = [model.get_parameter(name) for name in names]
    with ExitStack() as stack, torch.enable_grad():
        calls = [stack.enter_context(record_calls(layer_of(model, name))) for name in names]
        states = model.decode(fed, model.encode(source), model.source_mask(source))
        logits = model.project(states)
        loss = F.cross_entropy(logits[0], predicted[0], label_smoothing=0.1)
        outputs = [call.output for of_layer in calls for call in of_layer]
        found = torch.autograd.grad(loss, [*parameters, *outputs, logits], materialize_grads=True, allow_unused=True)
    gradients, errors, of_logits = found[: len(names)], iter(found[len(names) : -1]), found[-1]
    for name, gradient, of_layer in zip(names, gradients, calls, strict=True):
        index = tuple(map(int, torch.unravel_index(gradient.abs().argmax(), gradient.shape)))
        with_errors = [(call, next(errors)) for call in of_layer]
        uses = weight_uses(model, name, index, with_errors, (states[0].detach(), of_logits[0]))
        assert gradient[index] != 0, name
        assert sum(use.product for use in uses) == pytest.approx(gradient[index].item(), rel=1e-9, abs=1e-14), name
