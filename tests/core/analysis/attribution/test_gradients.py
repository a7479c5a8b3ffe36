import copy
import math
from dataclasses import replace

import pytest
import torch

from core.analysis.attribution.gradients import AttentionGradients, attention_gradients, gradient_maps, head_importance
from core.analysis.heads.ablation import normalised_by_layer
from core.analysis.heads.gating import gated
from core.analysis.heads.head import all_heads
from core.capture import AttentionMap, attention_path, capture_attention
from core.decoding import NonFiniteError
from core.text.tokenizer import SentencePieceTokenizer
from core.trace import Head
from core.translator import Translator
from tests.core.analysis.conftest import random_translator

SOURCE, TARGET = "Can you help me?", "Können Sie mir helfen?"


def test_the_gradient_of_a_weight_is_its_finite_difference(post_or_pre: Translator):
    found, of_one = (
        attention_gradients(post_or_pre, SOURCE, TARGET),
        attention_gradients(post_or_pre, SOURCE, TARGET, [4]),
    )
    source_ids, fed, predicted = (torch.tensor(ids) for ids in post_or_pre.token_ids(SOURCE, TARGET))
    for kind, layer, (head, i, j) in (
        ("cross", 1, (2, 3, 1)),
        ("encoder_self", 0, (0, 1, 2)),
        ("decoder_self", 2, (1, 4, 0)),
    ):

        def log_probs(
            change: float, place: str = attention_path(kind, layer), where: tuple[int, int, int] = (head, i, j)
        ) -> torch.Tensor:
            def add(path: str, weights: torch.Tensor) -> torch.Tensor | None:
                if path != place:
                    return None
                changed = weights.clone()
                changed[0][where] += change
                return changed

            with torch.inference_mode(), post_or_pre.inspect() as model, capture_attention(model, add):
                logits = model(source_ids[None], fed[None])[0].double()
            return logits.log_softmax(-1).gather(1, predicted[:, None])[:, 0]

        expected = (log_probs(0.002) - log_probs(-0.002)) / 0.004  # nearer than any bend of the feed-forward network
        assert float(found.gradients[kind][layer][head, i, j]) == pytest.approx(
            float(expected.sum()), rel=0.02, abs=2e-3
        )
        assert float(of_one.gradients[kind][layer][head, i, j]) == pytest.approx(float(expected[4]), rel=0.02, abs=2e-3)


def test_importance_is_the_derivative_by_a_gate(post_or_pre: Translator):
    importance = head_importance(attention_gradients(post_or_pre, SOURCE, TARGET))
    assert list(importance) == all_heads(post_or_pre.model)

    def loss(head: Head, gate: float) -> float:
        with gated(post_or_pre, {head: gate}):
            log_probs = post_or_pre.explain(SOURCE, TARGET).log_probs
        return -sum(log_probs) / len(log_probs)

    for head in (Head("encoder_self", 1, 0), Head("decoder_self", 0, 2), Head("cross", 2, 1)):
        assert importance[head] == pytest.approx(abs(loss(head, 1.005) - loss(head, 0.995)) / 0.01, rel=0.03, abs=2e-4)


def test_a_forced_first_token_is_no_prediction(tokenizer: SentencePieceTokenizer):
    translator = random_translator(tokenizer, forced_first_id=9)
    whole = attention_gradients(translator, SOURCE, TARGET)
    count = len(translator.explain(SOURCE, TARGET).predicted_tokens)
    predicted = attention_gradients(translator, SOURCE, TARGET, range(1, count))
    assert whole.num_predicted == count - 1
    assert head_importance(whole) == head_importance(predicted)
    assert attention_gradients(translator, SOURCE, TARGET, [0]).num_predicted == 1


def test_one_position_knows_nothing_of_what_comes_after(translator: Translator):
    found = attention_gradients(translator, SOURCE, TARGET, [2])
    for kind in ("decoder_self", "cross"):
        for gradient in found.gradients[kind]:
            assert gradient[:, 3:].abs().max() == 0
            assert gradient[:, :3].abs().max() > 0


def test_the_gradients_of_parts_of_the_output_sum_to_that_of_the_whole(translator: Translator):
    whole = attention_gradients(translator, SOURCE, TARGET)
    parts = [
        attention_gradients(translator, SOURCE, TARGET, positions)
        for positions in ([1], [0, 2], range(3, whole.num_predicted))
    ]
    assert sum(part.num_predicted for part in parts) == whole.num_predicted
    for kind in ("encoder_self", "decoder_self", "cross"):
        summed = torch.stack([part.gradients[kind][0] for part in parts]).sum(0)
        assert torch.allclose(summed, whole.gradients[kind][0], atol=1e-4)


def test_gradient_maps_by_hand():
    weights = torch.tensor([[[0.5, 0.5], [0.25, 0.75]], [[1.0, 0.0], [0.5, 0.5]]])
    gradient = torch.tensor([[[2.0, -4.0], [-1.0, -1.0]], [[1.0, 9.0], [2.0, 6.0]]])
    layer = AttentionMap("encoder_self", 0, weights, ("a", "b"), ("a", "b"))
    found = AttentionGradients({"encoder_self": [layer]}, {"encoder_self": [gradient]}, 2)
    # (grad a * a)+ is [[1, 0], [0, 0]] for the first head, [[1, 0], [1, 3]] for the second.
    assert torch.equal(
        gradient_maps(found)["encoder_self"][0].weights, torch.tensor([[[1.0, 0], [0, 0]], [[1, 0], [0.25, 0.75]]])
    )
    # Head 0: |1 - 2 - .25 - .75| / 2; head 1: (1 + 0 + 1 + 3) / 2.
    assert head_importance(found) == {("encoder_self", 0, 0): 1.0, ("encoder_self", 0, 1): 2.5}
    assert head_importance(replace(found, num_predicted=1))["encoder_self", 0, 0] == 2.0


def test_nothing_is_left_behind(translator: Translator):
    before = translator.explain(SOURCE, TARGET).log_probs
    attention_gradients(translator, SOURCE, TARGET)
    assert translator.explain(SOURCE, TARGET).log_probs == before
    assert all(parameter.grad is None and not parameter.requires_grad for parameter in translator.model.parameters())
    assert not any(module._forward_hooks for module in translator.model.modules())


def test_a_position_that_is_not_there(translator: Translator):
    with pytest.raises(ValueError, match=r"position 99 is not one of the \d+ predicted tokens: give 0 to"):
        attention_gradients(translator, SOURCE, TARGET, [0, 99])
    with pytest.raises(
        ValueError,
        match=r"no position of a predicted token is given: expected positions from 0 to \d+, or None for all",
    ):
        attention_gradients(translator, SOURCE, TARGET, [])


def test_importances_are_normalised_within_their_layer():
    """Michel et al. 2019: divided by each layer's Euclidean norm, here 5 and 2."""
    raw = {
        Head("cross", 0, 0): 3.0,
        Head("cross", 0, 1): 4.0,
        Head("cross", 1, 0): 0.0,
        Head("encoder_self", 0, 0): 2.0,
    }
    found = normalised_by_layer(raw)
    assert list(found) == list(raw)
    assert list(found.values()) == pytest.approx([0.6, 0.8, 0.0, 1.0])


def test_the_scale_of_a_layer_does_not_change_its_normalised_importances(translator: Translator):
    raw = head_importance(attention_gradients(translator, SOURCE, TARGET))
    scaled = {head: value * 10 ** (2 * head.layer - 3) for head, value in raw.items()}
    found = normalised_by_layer(raw)
    assert normalised_by_layer(scaled) == pytest.approx(found)
    for kind, layer in {(head.kind, head.layer) for head in found}:
        assert sum(
            value**2 for head, value in found.items() if (head.kind, head.layer) == (kind, layer)
        ) == pytest.approx(1)


def test_gradients_that_overflow_are_an_error(translator: Translator):
    broken = Translator(copy.deepcopy(translator.model), translator.tokenizer)
    broken.model.decoder.layers[2].cross_attention.v_proj.weight.fill_(math.inf)
    with pytest.raises(NonFiniteError, match=r"^the model's outputs are not finite \(NaN or infinite\) for this targe"):
        attention_gradients(broken, SOURCE, TARGET)
