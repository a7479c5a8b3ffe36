"""One step of training beside PyTorch's own loss, backpropagation and Adam, in float64."""

import copy
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from core.analysis.declaration import FIRST
from core.analysis.training_step import training_step as module
from core.analysis.training_step.training_step import TrainingStepOptions, training_step
from core.analysis.training_step.weight_gradient import trained_parameters
from core.decoding import NonFiniteError
from core.model import Transformer
from core.model.half_precision import keep_half_precision
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from tests.core.analysis.conftest import DOG, PRE_NORM, SOURCE, TARGET, Command, random_translator
from tests.core.tiny_models import LIKE_T5

VARIANTS: Mapping[str, dict[str, Any]] = {
    "post": {},
    "pre": {**PRE_NORM, "tied": "none", "position_offset": 2},
    "bias": {"embedding_norm": True, "scale_embedding": False, "output_bias": True, "tied": "target"},
    "t5": LIKE_T5,
    "near": {"neighbourhood": 3, "attention_bias": False, "positions": "learned", "max_positions": 99},
    "forced": {"forced_first_id": 9},
}


@pytest.fixture(scope="module", params=list(VARIANTS))
def other(tokenizer: SentencePieceTokenizer, request: pytest.FixtureRequest) -> Translator:
    return random_translator(tokenizer, **VARIANTS[request.param])


def trained(translator: Translator, rate: float) -> tuple[Transformer, Transformer, float, list[Tensor]]:
    """The model before and after a step of `torch.optim.Adam` on the mean loss of PyTorch, that loss, and the
    log-probabilities before and after.
    """
    before = copy.deepcopy(translator.model).double()
    model = copy.deepcopy(before).requires_grad_(True)
    source, fed, predicted = (torch.tensor([ids]) for ids in translator.token_ids(SOURCE, TARGET))
    start = translator.codec.num_forced(predicted[0].tolist(), SOURCE)
    for name, parameter in model.named_parameters():
        if "k_proj.bias" in name:
            parameter.requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, betas=(0.9, 0.98), eps=1e-9)
    with torch.enable_grad():
        logits = model(source, fed)[0]
        loss = F.cross_entropy(logits[start:], predicted[0, start:], label_smoothing=0.1)
        loss.backward()
    optimizer.step()
    log_probs = [
        -F.cross_entropy(each(source, fed)[0].detach(), predicted[0], reduction="none") for each in (before, model)
    ]
    for name, parameter in model.named_parameters():
        before.get_parameter(name).grad = parameter.grad
    return before, model, loss.item(), log_probs


def weights_of(model: Transformer) -> list[str]:
    """A parameter of each module and kind that is trained, of the first layer of each stack."""
    kinds = {name.replace(".0.", ".N."): name for name in reversed(trained_parameters(model))}
    return [name for kind, name in kinds.items() if ".layers." not in kind or ".N." in kind]


def test_it_is_a_step_of_pytorch(other: Translator) -> None:
    found = training_step(other, SOURCE, TARGET, TrainingStepOptions(token=4, step=300))
    expected_rate = 32**-0.5 * 300 * 4000**-1.5
    before, after, loss, log_probs = trained(other, expected_rate)
    assert found.rate == pytest.approx(expected_rate, rel=1e-12)
    assert found.loss == pytest.approx(loss, rel=1e-12)
    assert found.log_probs == pytest.approx(log_probs[0].tolist(), rel=1e-10)
    assert found.log_probs_after == pytest.approx(log_probs[1].tolist(), rel=1e-9)
    assert found.log_probs != found.log_probs_after
    assert found.gap < 1e-4
    assert [curve.values for curve in found.pictures(FIRST)[0].curves] == [found.log_probs, found.log_probs_after]
    name, index = found.weight.name, found.weight.index
    assert found.weight.value == before.get_parameter(name)[index].item()
    expected = after.get_parameter(name)[index].item()
    assert found.weight.value + found.adam.change.item() == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("variant", ["pre", "bias", "t5", "near"])  # between them they have every kind of weight
def test_the_gradient_is_the_sum_over_the_uses(tokenizer: SentencePieceTokenizer, variant: str) -> None:
    """Of a few kinds of weight; test_weight_gradient.py has all of them."""
    other = random_translator(tokenizer, **VARIANTS[variant])
    before, *_ = trained(other, 0.0)
    for name in weights_of(before)[::9]:
        weight = training_step(other, SOURCE, TARGET, TrainingStepOptions(weight=name)).weight
        gradient = before.get_parameter(name).grad
        assert gradient is not None
        assert weight.gradient == pytest.approx(gradient[weight.index].item(), rel=1e-9, abs=1e-15)
        assert abs(weight.gradient) == pytest.approx(gradient.abs().max().item(), rel=1e-9), name
        assert weight.total == pytest.approx(weight.gradient, rel=1e-9, abs=1e-14), name
        assert weight.slope == pytest.approx(weight.gradient, rel=1e-4, abs=1e-8), name


def test_a_tied_weight_is_used_in_three_places(translator: Translator) -> None:
    ids = translator.token_ids(SOURCE, TARGET)
    comma = next(iter(set(ids.source) & set(ids.fed)))
    uses = training_step(
        translator, SOURCE, TARGET, TrainingStepOptions(weight=f"embedding.tokens.weight[{comma}, 7]")
    ).weight.uses
    places = {(use.role, use.side): [each.position for each in uses if each[:2] == use[:2]] for use in uses}
    assert places == {
        ("embedding", "source"): [at for at, token_id in enumerate(ids.source) if token_id == comma],
        ("embedding", "target"): [at for at, token_id in enumerate(ids.fed) if token_id == comma],
        ("output", "target"): [*range(len(ids.fed))],
    }


def test_what_goes_in_is_shifted_right_behind_a_mask(other: Translator) -> None:
    found = training_step(other, SOURCE, TARGET)
    assert found.fed_tokens[1:] == found.predicted_tokens[:-1]
    reach = other.config.neighbourhood or len(found.fed_tokens)
    for query, row in enumerate(found.mask.tolist()):
        assert row == [0 <= query - key < max(reach, 1) or query == key for key in range(len(row))]


def test_the_smoothed_label_and_the_losses(translator: Translator) -> None:
    found = training_step(translator, SOURCE, TARGET, TrainingStepOptions(token=3))
    size, label = translator.config.target_size, found.label
    assert label.tokens[0] == found.predicted_tokens[3]
    assert label.labels[0] == pytest.approx(0.9 + 0.1 / size)
    assert sum(label.labels) + label.others * 0.1 / size == pytest.approx(1)
    assert sum(label.probabilities) + label.other_probability == pytest.approx(1)
    assert math.log(label.probabilities[0]) == pytest.approx(found.log_probs[3])
    assert list(label.probabilities[1:]) == sorted(label.probabilities[1:], reverse=True)
    # the loss of a token is the cross-entropy of the smoothed label and the prediction, term by term
    model = copy.deepcopy(translator.model).double()
    source, fed, predicted = translator.token_ids(SOURCE, TARGET)
    log_p = model(torch.tensor([source]), torch.tensor([fed]))[0, 3].log_softmax(-1).tolist()
    terms = [((token == predicted[3]) * 0.9 + 0.1 / size) * -log_p[token] for token in range(size)]
    assert found.losses[3] == pytest.approx(sum(terms))
    assert sum(found.losses) / len(found.losses) == pytest.approx(found.loss)


def test_a_forced_token_is_in_no_loss(tokenizer: SentencePieceTokenizer) -> None:
    found = training_step(random_translator(tokenizer, forced_first_id=9), SOURCE, TARGET)
    assert (found.num_forced, found.losses[0]) == (1, 0.0)
    output = [use for use in found.weight.uses if use.role == "output"]
    assert (output[0].error, output[0].position) == (0.0, 0)


@pytest.mark.parametrize("interrupted", [False, True])
def test_the_model_stays_as_it_is_even_during_the_step(
    translator: Translator, monkeypatch: pytest.MonkeyPatch, interrupted: bool
) -> None:
    before = {name: value.clone() for name, value in translator.model.state_dict().items()}
    own = translator.score(SOURCE, TARGET)
    seen: list[bool] = []

    def last_losses(*arguments: Any) -> Any:
        seen.append(translator.score(SOURCE, TARGET) == own)  # as another visitor, when all weights have changed
        if interrupted and len(seen) == 2:
            raise KeyboardInterrupt
        return losses(*arguments)

    losses = module._Step._losses
    monkeypatch.setattr(module._Step, "_losses", last_losses)
    if interrupted:
        with pytest.raises(KeyboardInterrupt):
            training_step(translator, SOURCE, TARGET)
        assert not module._one_at_a_time.locked()
    else:
        training_step(translator, SOURCE, TARGET)
    assert all(seen)
    assert len(seen) >= 2
    after = translator.model.state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())
    assert not any(each.requires_grad or each.grad is not None for each in translator.model.parameters())
    assert not any(each._forward_hooks for each in translator.model.modules())


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ("nothing", r"there is no weight 'nothing' in this model: .* the nearest names are"),
        ("embedding.tokens.weight[1", "there is no weight 'embedding.tokens.weight"),
        ("embedding.tokens.weight[1]", r"has no index \[1\]: its shape is \[400, 32\], give \[0 to 399, 0 to 31\]"),
        ("embedding.tokens.weight[1, 32]", r"has no index \[1, 32\]"),
        ("encoder.layers.0.self_attention.k_proj.bias", "is not trained: a bias of the keys adds the same"),
    ],
)
def test_weights_that_there_are_not_are_named(translator: Translator, weight: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        training_step(translator, SOURCE, TARGET, TrainingStepOptions(weight=weight))


def test_models_that_cannot_be_trained_so_say_why(
    translator: Translator, mask_predict_checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="does not apply to this model, which predicts all tokens at once"):
        training_step(Translator.from_checkpoint(mask_predict_checkpoint), SOURCE, TARGET)
    with pytest.raises(ValueError, match="position 99 is not one of the"):
        training_step(translator, SOURCE, TARGET, TrainingStepOptions(token=99))
    with pytest.raises(ValueError, match=r"step \(0\) must be at least 1"):
        training_step(translator, SOURCE, TARGET, TrainingStepOptions(step=0))
    halves = copy.deepcopy(translator.model)
    halves.embedding.tokens.weight.data = halves.embedding.tokens.weight.data.half()
    keep_half_precision(halves)
    with pytest.raises(ValueError, match="stay in float16, which has too few digits for a step of training"):
        training_step(Translator(halves, translator.tokenizer), SOURCE, TARGET)
    monkeypatch.setattr("core.model.half_precision.LARGE", 1000)
    with pytest.raises(ValueError, match=r"parameters, at most .* are copied for a step of training"):
        training_step(translator, SOURCE, TARGET)


def test_numbers_that_are_not_finite_are_an_error(translator: Translator) -> None:
    model = copy.deepcopy(translator.model)
    model.embedding.tokens.weight[5] = math.inf
    with pytest.raises(NonFiniteError, match="for this target"):
        training_step(Translator(model, translator.tokenizer), SOURCE, TARGET)


def test_imported_models_are_trained_too(checkpoint_of_any_kind: Path) -> None:
    found = training_step(Translator.from_checkpoint(checkpoint_of_any_kind), SOURCE, TARGET)
    assert found.weight.total == pytest.approx(found.weight.gradient, rel=1e-9, abs=1e-14)
    assert found.loss_after < found.loss


@pytest.mark.parametrize("part", ["tokens", "mask", "label", "gradient", "adam"])
def test_the_command_prints_a_part(command: Command, part: Any) -> None:
    rows = command("training-step", *DOG, "--token", "2", "--step", "50", "--part", part)
    options = TrainingStepOptions(token=1, step=50, part=part)
    found = training_step(command.translator, "A dog runs.", "Ein Hund.", options)
    table = {name: list(column) for name, column in found.table().items()}
    assert list(rows[0]) == list(table)
    for name, column in table.items():
        numbers = [each for each in column if isinstance(each, float)]
        if numbers:
            assert [float(row[name]) for row in rows if row[name]] == pytest.approx(numbers, rel=1e-6, abs=1e-12)
    assert f"Step 50 with rate {found.rate:.3g}" in command.said
    assert replace(found, part="adam").table() == found.table("adam")
