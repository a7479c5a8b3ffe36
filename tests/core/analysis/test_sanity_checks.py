from dataclasses import replace

import pytest
import torch

from core.analysis.heads.gating import gated
from core.analysis.sanity_checks import Check, check_explanation, check_maps
from core.capture import AttentionMap
from core.model import Transformer
from core.model.preset_configs import PRESETS
from core.text.tokenizer import SentencePieceTokenizer
from core.trace import Head, Kind
from core.translator import Explanation, ScoredText, Translator

SOURCE, TARGET = "Nobody knows this.", "Niemand weiß das."
NAMES = ["rows sum to 1", "masks respected", "tokens match axes", "fused equals explicit", "dropout off"]


def failed(checks: list[Check]) -> dict[str, str]:
    return {check.name: check.detail for check in checks if not check.passed}


def with_map(explanation: Explanation, kind: Kind, number: int, layer: AttentionMap) -> Explanation:
    layers = list(explanation.maps[kind])
    layers[number] = layer
    return replace(explanation, maps={**explanation.maps, kind: tuple(layers)})


@pytest.fixture(scope="module")
def explanation(translator: Translator) -> Explanation:
    return translator.explain(SOURCE, TARGET)


def test_checks_of_a_correct_explanation_pass(translator: Translator, explanation: Explanation):
    checks = check_explanation(translator, explanation)
    assert [check.name for check in checks] == NAMES
    assert not failed(checks)


def test_a_hypothesis_and_its_maps_are_compared_with_their_replay(translator: Translator, explanation: Explanation):
    ids = translator.token_ids(SOURCE, TARGET).predicted
    hypothesis = ScoredText(TARGET, tuple(ids), explanation.predicted_tokens, explanation.log_probs, -1.0)
    checks = check_explanation(translator, explanation, hypothesis)
    assert [check.name for check in checks] == [*NAMES[:3], "replay equals page", *NAMES[3:]]
    assert not failed(checks)
    other = replace(hypothesis, token_log_probs=(explanation.log_probs[0] - 0.5, *explanation.log_probs[1:]))
    found = failed(check_explanation(translator, explanation, other))
    assert list(found) == ["replay equals page"]
    assert found["replay equals page"].startswith("log-probabilities differ by at most 0.5 nats, attention weights by")
    layer = explanation.maps["cross"][1]
    other_maps = with_map(explanation, "cross", 1, replace(layer, weights=layer.weights.flip(-1)))
    assert list(failed(check_explanation(translator, other_maps, hypothesis))) == ["replay equals page"]


def test_what_a_search_in_reduced_precision_finds_is_compared_too(translator: Translator):
    fast = Translator(translator.model, translator.tokenizer, precision="fast")
    best = fast.translate(SOURCE).hypotheses[0]
    checks = check_explanation(fast, fast.explain(SOURCE, best.token_ids), best)
    assert [check.name for check in checks] == [*NAMES[:3], "replay equals page", *NAMES[3:]]
    assert not failed(checks)


def test_rows_that_do_not_sum_to_1(translator: Translator):
    with gated(translator, {Head("cross", 1, 0): 0.5}):
        scaled = translator.explain(SOURCE, TARGET)
    assert list(failed(check_maps(scaled))) == ["rows sum to 1"]
    assert failed(check_maps(scaled))["rows sum to 1"].endswith("off by at most 0.5")


@pytest.mark.parametrize(("weight", "shown"), [(0.25, "0.2"), (1e-6, "1e-06")])
def test_a_look_ahead(weight: float, shown: str, explanation: Explanation):
    layer = explanation.maps["decoder_self"][1]
    weights = layer.weights.clone()
    weights[0, 0, :2] = torch.tensor([1 - weight, weight])
    assert failed(check_maps(with_map(explanation, "decoder_self", 1, replace(layer, weights=weights)))) == {
        "masks respected": f"largest weight on a token that is later: {shown}"
    }


def test_a_look_beyond_the_neighbourhood(tokenizer: SentencePieceTokenizer, explanation: Explanation):
    shape = replace(PRESETS["tiny"], vocab_size=tokenizer.vocab_size, neighbourhood=4)
    near = Translator(Transformer(shape), tokenizer)
    checks = check_explanation(near, near.explain(SOURCE, TARGET))
    assert not failed(checks)
    assert checks[1].detail == "largest weight on a token that is later or not among the 4 nearest: 0"
    assert list(failed(check_maps(explanation, neighbourhood=4))) == ["masks respected"]  # of a model that sees all


def test_tokens_of_another_sentence(translator: Translator, explanation: Explanation):
    other = replace(explanation, source="Somebody knows this.")
    assert "the source tokens are" in failed(check_explanation(translator, other))["tokens match axes"]
    cross = explanation.maps["cross"][0]
    renamed = replace(cross, key_tokens=("?", *cross.key_tokens[1:]))
    found = failed(check_explanation(translator, with_map(explanation, "cross", 0, renamed)))
    assert found == {"tokens match axes": "the tokens of layer 0 of cross are not those of the sentence"}


def test_layers_and_heads_in_another_s_place(translator: Translator, explanation: Explanation):
    swapped = replace(explanation, maps={**explanation.maps, "cross": explanation.maps["cross"][::-1]})
    assert (
        failed(check_explanation(translator, swapped))["tokens match axes"]
        == "cross has maps of layers [2, 1, 0], expected [0, 1, 2]"
    )
    first = explanation.maps["encoder_self"][0]
    fewer = with_map(explanation, "encoder_self", 0, replace(first, weights=first.weights[:2]))
    assert (
        failed(check_explanation(translator, fewer))["tokens match axes"]
        == "layer 0 of encoder_self has 2 heads, expected 3"
    )


def test_a_model_left_in_training_mode(translator: Translator, explanation: Explanation):
    translator.model.decoder.layers[1].dropout.train()
    try:
        found = failed(check_explanation(translator, explanation))
    finally:
        translator.model.eval()
    assert found["dropout off"] == "1 modules are in training mode"


def test_a_seam_that_changes_what_it_should_only_show(translator: Translator, explanation: Explanation):
    """A difference between explicit and fused path is detected: here, a softmax that is not normalised."""
    seam = translator.model.encoder.layers[0].self_attention.weights
    seam.forward = lambda scores: scores.softmax(-1) ** 2
    try:
        found = failed(check_explanation(translator, explanation))
    finally:
        del seam.forward
    assert list(found) == ["fused equals explicit"]
