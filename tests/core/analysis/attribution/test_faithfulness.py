import math
from itertools import islice

import pytest
import torch

from core.analysis.attribution.contrast import Contrast, contrast_at
from core.analysis.attribution.contrast_methods import attribute_contrast
from core.analysis.attribution.faithfulness import (
    RANDOM,
    SHARES,
    area_over_curve,
    deletion_curves,
    mean_curves,
    probabilities_without,
    rank_methods,
    ranked_tokens,
    sample_curves,
)
from core.translator import Translator

SOURCE, TARGET, OTHER = "Can you help me?", "Können Sie mir helfen?", 77


@pytest.fixture(params=["post", "pre"])
def model(request: pytest.FixtureRequest, translator: Translator, norm_first: Translator) -> Translator:
    return translator if request.param == "post" else norm_first


def shortened(contrast: Contrast, deleted: set[int]) -> torch.Tensor:
    """Log-probabilities [V] after a pass over the shorter input alone."""
    ids = [token_id for index, token_id in enumerate(contrast.source_ids) if index not in deleted]
    num_source = len(contrast.source_ids)
    fed = [token_id for index, token_id in enumerate(contrast.prefix_ids, start=num_source) if index not in deleted]
    with torch.inference_mode():
        return contrast.translator.model(torch.tensor([ids]), torch.tensor([fed]))[0, -1].double().log_softmax(-1)


def test_deleted_tokens_are_left_out_of_the_input(model: Translator, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("core.analysis.attribution.faithfulness.BLOCK_TOKENS", 60)  # several batches
    for against in (None, OTHER):
        contrast = contrast_at(model, SOURCE, TARGET, 7, against=against)
        first, last = contrast.ordinary[0], contrast.ordinary[-1]
        deletions = [set(), {first}, {last}, {first, last, last - 1}, set(contrast.ordinary), {first}]
        for found, deleted in zip(probabilities_without(contrast, deletions), deletions, strict=True):
            log_probs = shortened(contrast, deleted)
            expected = log_probs[contrast.token].exp()
            if against is not None:
                expected = expected / (expected + log_probs[against].exp())
            assert found == pytest.approx(float(expected), abs=1e-5)


def test_curves_delete_the_tokens_in_the_order_of_a_method(translator: Translator):
    found = attribute_contrast(translator, SOURCE, TARGET, 7, against=OTHER, methods=["occlusion", "alti"])
    contrast, curves = found.contrast, deletion_curves(found, num_random=3)
    assert list(curves) == ["occlusion", "alti", RANDOM]
    for method, scores in found.scores.items():
        order = ranked_tokens(scores, contrast)
        assert sorted(order) == contrast.ordinary
        assert scores[order].tolist() == sorted(scores[order].tolist(), reverse=True)
        counts = [0] + [math.ceil(share * len(order)) for share in SHARES]
        expected = probabilities_without(contrast, [order[:count] for count in counts])
        assert curves[method] == pytest.approx(tuple(expected), abs=1e-6)
    assert curves[RANDOM][0] == pytest.approx(curves["alti"][0])
    assert deletion_curves(found, num_random=3) == curves
    assert deletion_curves(found, num_random=3, seed=1)[RANDOM] != curves[RANDOM]


def test_the_area_over_a_curve():
    assert area_over_curve([0.75, 0.25, 0.5]) == pytest.approx((0 + 0.5 + 0.25) / 3)


def test_methods_are_ranked_by_their_mean():
    """AOPC of (1, x) is (1 - x) / 2."""
    falls = {"good": (0.6, 0.8, 0.7), "even": (0.65, 0.7, 0.73), "bad": (0.1, 0.2, 0.1), RANDOM: (0.1, 0.1, 0.2)}
    examples = [{method: (1.0, 1 - fall[number]) for method, fall in falls.items()} for number in range(3)]
    ranked = rank_methods(examples)
    assert [each.method for each in ranked] == ["good", "even", "bad", RANDOM]
    assert [each.aopc for each in ranked[:2]] == pytest.approx([0.35, 2.08 / 6])
    assert ranked[0].error == pytest.approx(0.05 / math.sqrt(3))
    assert [each.is_best for each in ranked] == [True, True, False, False]
    assert [each.beats_random for each in ranked] == [True, True, False, False]
    assert mean_curves(examples)["bad"] == pytest.approx((1, 1 - 0.4 / 3))


def test_one_example_ranks_nothing():
    ranked = rank_methods([{"a": (1.0, 0.0), RANDOM: (1.0, 0.5)}])
    assert all(each.is_best and not each.beats_random and math.isnan(each.error) for each in ranked)
    with pytest.raises(ValueError, match="give at least one"):
        rank_methods([])


def test_a_sample_is_the_same_for_equal_seeds(translator: Translator, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("core.text_codec.MAX_EXTRA_TOKENS", 2)
    sentences = ["A dog runs.", "Where is it?"]
    first, again = (list(sample_curves(translator, sentences, methods=["attention"])) for _ in range(2))
    assert first == again
    assert [example.source for example in first] == sentences
    assert all(example.token != example.against for example in first)
    assert all(set(example.curves) == {"attention", RANDOM} for example in first)
    alone = next(islice(sample_curves(translator, sentences, contrastive=False, methods=["attention"]), 1))
    assert alone.against is None
    assert alone.token == first[0].token


def test_what_cannot_be_deleted_or_translated_is_named(translator: Translator):
    contrast = contrast_at(translator, SOURCE, TARGET, 3)
    with pytest.raises(ValueError, match="token 99 cannot be deleted: it is special, or not one of"):
        probabilities_without(contrast, [{99}])
    with pytest.raises(ValueError, match="cannot be deleted"):
        probabilities_without(contrast, [{contrast.tokens.index("<s>")}])
    with pytest.raises(ValueError, match="sentence 1: there is nothing to translate"):
        next(sample_curves(translator, [" "]))
