import copy

import pytest
import torch

from core.analysis.attribution.contrast import Contrast, contrast_at, runner_up
from core.capture import capture_attention
from core.decoding import NonFiniteError
from core.model import Transformer
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from tests.core.analysis.conftest import random_translator
from tests.margins import assert_equal_to_rounding, depth

SOURCE, TARGET, POSITION, OTHER = "Can you help me?", "Können Sie mir helfen?", 6, 77


@pytest.fixture
def model(post_or_pre: Translator) -> Translator:
    return post_or_pre


@pytest.fixture
def contrast(model: Translator) -> Contrast:
    return contrast_at(model, SOURCE, TARGET, POSITION, against=OTHER)


def logits_of(model: Transformer, contrast: Contrast) -> torch.Tensor:
    with torch.inference_mode():
        return model(torch.tensor([contrast.source_ids]), torch.tensor([contrast.prefix_ids]))[0, -1].double()


def output_of(model: Transformer, contrast: Contrast) -> float:
    """F by a plain pass."""
    logits = logits_of(model, contrast)
    return float(logits[contrast.token] - logits[contrast.against])


def test_open_gates_are_the_model_s_own_output(model: Translator, contrast: Contrast):
    assert contrast.outputs(contrast.ones()).item() == pytest.approx(output_of(model.model, contrast), abs=1e-4)
    alone = contrast_at(model, SOURCE, TARGET, POSITION)
    explanation = model.explain(SOURCE, TARGET)
    assert alone.outputs(alone.ones()).item() == pytest.approx(explanation.log_probs[POSITION], abs=1e-4)
    assert alone.prefix_tokens == explanation.fed_tokens[: POSITION + 1]
    assert alone.source_tokens == explanation.source_tokens


def test_a_closed_gate_is_an_embedding_of_zero(model: Translator, contrast: Contrast):
    """Every token that occurs once is set to zero in a copy of the embedding instead."""
    ids, num_source = (*contrast.source_ids, *contrast.prefix_ids), len(contrast.source_ids)
    gates = 1 - torch.eye(len(ids))
    found = contrast.outputs(gates)
    once = [index for index, each in enumerate(ids) if ids.count(each) == 1 and each != contrast.token]
    assert min(once) < num_source < max(once)
    changed = copy.deepcopy(model.model)
    for index in once:
        embedding = (changed.embedding if index < num_source else changed.fed_embedding).tokens.weight[ids[index]]
        kept = embedding.clone()
        embedding.zero_()
        assert float(found[index]) == pytest.approx(output_of(changed, contrast), abs=1e-4)
        embedding.copy_(kept)


def test_zeroed_values_are_columns_of_attention_set_to_zero(model: Translator, contrast: Contrast):
    gates, num_source = 1 - torch.eye(len(contrast.tokens)), len(contrast.source_ids)
    found = contrast.outputs(gates, "values")
    for index in (0, 2, num_source - 1, num_source, num_source + 3):

        def zero(path: str, weights: torch.Tensor, index: int = index) -> torch.Tensor | None:
            if path.startswith("decoder") and path.endswith("self_attention"):
                if index < num_source:
                    return None
                index -= num_source
            elif index >= num_source:
                return None
            weights = weights.clone()
            weights[..., index] = 0
            return weights

        with capture_attention(model.model, zero):
            expected = output_of(model.model, contrast)
        assert float(found[index]) == pytest.approx(expected, abs=1e-4)


def test_gradients_are_finite_differences(model: Translator):
    """In float64: in float32, steps large enough to be seen are too large for strongly curved models."""
    exact = Translator(copy.deepcopy(model.model).double(), model.tokenizer)
    contrast = contrast_at(exact, SOURCE, TARGET, POSITION, against=OTHER)
    point = torch.rand(1, len(contrast.tokens), generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    (output,), (found,) = contrast.gradients(point)
    step = 1e-6 * torch.eye(point.size(1), dtype=torch.float64)
    assert float(output) == pytest.approx(contrast.outputs(point).item(), abs=1e-9)
    expected = (contrast.outputs(point + step) - contrast.outputs(point - step)) / 2e-6
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-6)


def test_blocks_do_not_change_the_result(model: Translator, contrast: Contrast, monkeypatch: pytest.MonkeyPatch):
    gates = 1 - torch.eye(len(contrast.tokens))[:7]
    outputs, gradients = contrast.outputs(gates), contrast.gradients(gates)[1]
    monkeypatch.setattr("core.analysis.attribution.contrast.BLOCK_TOKENS", 5 * len(contrast.tokens))
    in_blocks = contrast.outputs(gates)
    assert_equal_to_rounding(in_blocks, outputs, model.model, terms=logits_of(model.model, contrast))
    assert_equal_to_rounding(contrast.gradients(gates)[1], gradients, 2 * depth(model.model))


def test_nothing_is_left_on_the_model(contrast: Contrast):
    contrast.outputs(contrast.ones(), "values")
    contrast.gradients(contrast.ones())
    assert not any(module._forward_hooks for module in contrast.translator.model.modules())


def test_the_runner_up_is_the_best_other_token(model: Translator):
    alternatives = model.explain(SOURCE, TARGET).alternatives[POSITION]
    best, second = (model.tokenizer.target.token_id(str(token)) for token, _ in alternatives[:2])
    contrast = contrast_at(model, SOURCE, TARGET, POSITION, best)
    assert runner_up(contrast) == second
    assert runner_up(contrast_at(model, SOURCE, TARGET, POSITION, second)) == best


def test_the_runner_up_is_a_token_that_a_search_generates(tokenizer: SentencePieceTokenizer, translator: Translator):
    best, second, third = (
        tokenizer.token_id(str(token)) for token, _ in translator.explain(SOURCE, TARGET).alternatives[POSITION][:3]
    )
    other = random_translator(tokenizer, never_ids=(second,))
    assert runner_up(contrast_at(other, SOURCE, TARGET, POSITION, best)) == third


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"position": 99}, "position 99 is not one of the"),
        ({"position": 0, "token": 400}, "there is no token 400: give an id from 0 to 399"),
        ({"position": 0, "against": -1}, "there is no token -1"),
        ({"position": 0, "token": 5, "against": 5}, "is compared with itself: give another token, or none"),
    ],
)
def test_what_cannot_be_explained_is_named(translator: Translator, settings: dict[str, int], message: str):
    with pytest.raises(ValueError, match=message):
        contrast_at(translator, SOURCE, TARGET, **settings)


def test_damaged_weights_are_reported(translator: Translator):
    damaged = Translator(copy.deepcopy(translator.model), translator.tokenizer)
    damaged.model.decoder.layers[0].feed_forward.outer.bias[0] = torch.nan
    contrast = contrast_at(damaged, SOURCE, TARGET, 0)
    with pytest.raises(NonFiniteError, match="not finite"):
        contrast.outputs(contrast.ones())
