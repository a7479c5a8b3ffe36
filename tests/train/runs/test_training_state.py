"""Trained parameters, and restored states."""

import copy
import math
import time
from dataclasses import replace

import pytest
import torch
from torch import nn

from core.model import Transformer
from core.model.config import TransformerConfig
from core.model.preset_configs import PRESETS
from train.data.token_shards import Batch, make_batch
from train.distributed import World
from train.loss import TranslationLoss
from train.recipe import Recipe
from train.runs.training_state import Training

CPU = World(torch.device("cpu"))
CONFIG = replace(PRESETS["tiny"], vocab_size=50, dropout=0.0)


@pytest.fixture
def batch() -> Batch:
    random = torch.Generator().manual_seed(0)
    pairs = [
        [torch.randint(3, 50, (length,), generator=random).tolist() for length in (n, n + 2)] for n in (3, 5, 8, 8)
    ]
    return make_batch([(source, target) for source, target in pairs])


def with_biases(model: Transformer) -> Transformer:
    """A model with non-zero biases, as after some training."""
    random = torch.Generator().manual_seed(1)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(parameter, std=0.1, generator=random)
    return model


def gradients(model: Transformer, batch: Batch) -> dict[str, torch.Tensor]:
    TranslationLoss(model, 0.1)(batch).smoothed.backward()
    return {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}


def step(training: Training, batch: Batch) -> None:
    training.loss_of(batch).smoothed.backward()
    training.set_rate(1e-3)
    training.optimizer.step()
    training.optimizer.zero_grad()


def test_bytes_are_trained_only_if_there_are_tokens_of_them() -> None:
    with pytest.raises(ValueError, match=r"only \(encoder,bytes\) needs a tokenizer with tokens of single bytes"):
        Training(CONFIG, Recipe(steps=1, only="encoder,bytes"), CPU)


def training_of(recipe: Recipe) -> Training:
    training = Training(CONFIG, recipe, CPU)
    with_biases(training.model)
    return training


@pytest.mark.parametrize("config", [CONFIG, replace(CONFIG, neighbourhood=4)], ids=["full", "restricted"])
def test_the_bias_of_keys_has_no_gradient(config: TransformerConfig, batch: Batch) -> None:
    """It adds a constant to the scores of a row, which the softmax cancels."""
    found = gradients(with_biases(Transformer(config)).double(), batch)
    largest = {
        part: max(float(grad.abs().max()) for name, grad in found.items() if part in name)
        for part in ("k_proj.bias", "q_proj.bias")
    }
    assert largest["k_proj.bias"] < 1e-12 * largest["q_proj.bias"]


def test_the_bias_of_keys_is_not_trained_and_other_gradients_are_the_same_to_the_bit(
    recipe: Recipe, batch: Batch
) -> None:
    training = training_of(recipe)
    before = {name: parameter.detach().clone() for name, parameter in training.model.named_parameters()}
    for _ in range(3):
        step(training, batch)
    unchanged = {name for name, parameter in training.model.named_parameters() if torch.equal(parameter, before[name])}
    assert unchanged == {name for name in before if name.endswith("k_proj.bias")}
    assert len(unchanged) == 3 * 2  # of self-attention, twice, and cross-attention, in two layers
    assert unchanged <= training.model.state_dict().keys()

    everything = gradients(copy.deepcopy(training.model).requires_grad_(True), batch)
    some = gradients(training.model, batch)
    assert everything.keys() - some.keys() == {name for name in everything if name.endswith("k_proj.bias")}
    assert all(torch.equal(grad, everything[name]) for name, grad in some.items())


def test_an_older_state_with_trained_key_biases_is_restored(recipe: Recipe, batch: Batch) -> None:
    """The optimizer's state depends on the order of the parameters, so none may be missing."""
    old = training_of(recipe)
    old.model.requires_grad_(True)
    for _ in range(2):
        step(old, batch)
    new = Training(CONFIG, recipe, CPU)
    new.restore(copy.deepcopy(old.state()))
    moments = [
        {name: training.optimizer.state[each]["exp_avg_sq"] for name, each in training.model.named_parameters()}
        for training in (old, new)
    ]
    assert all(torch.equal(value, moments[1][name]) for name, value in moments[0].items())
    step(old, batch)
    step(new, batch)
    expected = dict(old.model.named_parameters())
    for name, parameter in new.model.named_parameters():
        assert torch.equal(parameter, expected[name]) != name.endswith("k_proj.bias"), name


def test_the_optimizer_is_adam_with_the_constants_of_the_paper(recipe: Recipe) -> None:
    """beta_1 = 0.9, beta_2 = 0.98 and epsilon = 1e-9 (5.3), in gradients so small that epsilon matters."""
    training, rate = training_of(recipe), 1e-3
    parameter = next(each for each in training.model.parameters() if each.requires_grad)
    expected, mean, square = parameter.detach().double().clone(), 0.0, 0.0
    for number, gradient in enumerate((1e-8, 3e-8, -2e-8), start=1):
        parameter.grad = torch.full_like(parameter, gradient)
        training.set_rate(rate)
        training.optimizer.step()
        mean, square = 0.9 * mean + 0.1 * gradient, 0.98 * square + 0.02 * gradient**2
        root = math.sqrt(square / (1 - 0.98**number))
        expected -= rate * mean / (1 - 0.9**number) / (root + 1e-9)
        torch.testing.assert_close(parameter.detach().double(), expected, rtol=0, atol=1e-6)


def test_hours_are_those_that_pass_though_the_clock_is_set(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    began, day = time.monotonic(), 24 * 3600
    old = Training(CONFIG, recipe, CPU)
    monkeypatch.setattr(time, "time", lambda now=time.time: now() + day)
    new = Training(CONFIG, recipe, CPU)
    new.restore(old.state() | {"hours": 2.0})
    monkeypatch.setattr(time, "time", lambda now=time.time: now() - 2 * day)
    for training, before in ((old, 0.0), (new, 2.0)):
        assert before <= training.hours <= before + (time.monotonic() - began) / 3600
