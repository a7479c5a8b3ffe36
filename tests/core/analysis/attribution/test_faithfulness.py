import math
from collections.abc import Collection, Sequence
from itertools import islice

import pytest
import torch

from core.analysis.attribution.attribute import attribute_contrast
from core.analysis.attribution.contrast import Contrast, contrast_at
from core.analysis.attribution.deletion_curves import (
    RANDOM,
    SHARES,
    DeletionCurves,
    area_over_curve,
    curves_picture,
    curves_table,
    deletion_curves,
    probabilities_without,
    ranked_tokens,
)
from core.analysis.attribution.faithfulness import Faithfulness, Ranking, rank_methods, sample_curves
from core.analysis.attribution.paired_differences import LEVEL, PairedDifference, t_quantile, within_t
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
    monkeypatch.setattr("core.analysis.attribution.deletion_curves.BLOCK_TOKENS", 60)  # several batches
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


def examples_of(**falls: Sequence[float]) -> list[DeletionCurves]:
    """DeletionCurves (1, 1 - x), whose AOPC is x / 2."""
    return [
        {method: (1.0, 1 - fall) for method, fall in zip(falls, of_one, strict=True)}
        for of_one in zip(*falls.values(), strict=True)
    ]


def test_methods_are_ranked_by_their_mean():
    falls = {"good": (0.6, 0.8, 0.7), "even": (0.65, 0.7, 0.73), "bad": (0.1, 0.2, 0.1), RANDOM: (0.1, 0.1, 0.2)}
    examples = examples_of(**falls)
    ranking = rank_methods(examples)
    assert [each.method for each in ranking.methods] == ["good", "even", "bad", RANDOM]
    assert [each.aopc for each in ranking.methods[:2]] == pytest.approx([0.35, 2.08 / 6])
    assert ranking.methods[0].error == pytest.approx(0.05 / math.sqrt(3))
    assert ranking.curves["bad"] == pytest.approx((1, 1 - 0.4 / 3))


def test_methods_are_compared_with_the_control_example_by_example():
    """Examples differ by far more than methods do, so that only their differences tell."""
    levels = [0.05, 0.9, 0.3, 0.6, 0.1, 0.8]
    above = [0.03, 0.05, 0.04, 0.03, 0.05, 0.04]
    found = {
        each.method: each
        for each in rank_methods(
            examples_of(
                better=[level + each for level, each in zip(levels, above, strict=True)],
                same=[level + each - 0.04 for level, each in zip(levels, above, strict=True)],
                worse=[level - each for level, each in zip(levels, above, strict=True)],
                **{RANDOM: levels},
            )
        ).methods
    }
    error = math.sqrt(0.0004 / 5 / 6) / 2  # the squares of the differences from 0.04 sum to 0.0004
    assert found["better"].above_random.mean == pytest.approx(0.02)
    half = (found["better"].above_random.high - found["better"].above_random.low) / 2
    assert half == pytest.approx(t_quantile(0.95, 5) * error)
    assert [found[name].beats_random for name in ("better", "same", "worse", RANDOM)] == [True, False, False, False]
    assert found["worse"].above_random.p_value < LEVEL


def test_several_methods_need_more_to_beat_random():
    """A difference of 3 standard errors of 6 examples has p = 0.03: enough for one method, not for two."""
    control = [0.3] * 6
    spread = [1.0, -1.0, 2.0, -2.0, 1.5, -1.5]
    error = math.sqrt(sum(each**2 for each in spread) / 5 / 6)
    some = [0.3 + (3 * error + each) / 100 for each in spread]
    for others, beats in ((0, True), (1, False), (7, False)):
        falls = {"some": some, **{f"other {number}": control for number in range(others)}, RANDOM: control}
        found = next(each for each in rank_methods(examples_of(**falls)).methods if each.method == "some")
        assert found.beats_random == beats
        alone = 1 - within_t(3, 5)
        assert found.above_random.p_value == pytest.approx(alone * (others + 1))


def test_the_best_method_is_chosen_on_one_half_and_measured_on_the_other():
    """The first, third and so on are one half: there `odd` is ahead, and `even` on the others."""
    spread = [0.02, -0.02, 0.01, -0.01] * 3
    falls = {
        "odd": [0.9, 0.3] * 6,
        "even": [0.3, 0.9] * 6,
        "steady": [0.5 + each for each in spread],
        "behind": [0.2 + each for each in spread],
        RANDOM: [0.1 - each for each in spread],
    }
    ranking = rank_methods(examples_of(**falls))
    assert ranking.best == ("odd", "even")
    assert ranking.best_aopc == pytest.approx(0.15)  # each where the other is ahead
    best = {each.method: each.is_best for each in ranking.methods}
    assert best == {"odd": True, "even": True, "steady": True, "behind": False, RANDOM: False}
    del falls["odd"], falls["even"]
    ranking = rank_methods(examples_of(**falls))
    assert (ranking.best, ranking.best_aopc) == (("steady",), pytest.approx(0.25))


def test_the_answer_names_what_to_trust_and_what_not() -> None:
    def answer(*methods: tuple[str, bool, bool]) -> str:
        above = PairedDifference(0.1, 0.05, 0.15, 0.01)
        found = [Faithfulness(method, 0.5, 0.1, above, beats, is_best) for method, is_best, beats in methods]
        return Ranking(tuple(found), (methods[0][0], "alti"), 0.4567, 9, {}).answer()

    one = answer(("occlusion", True, True), ("alti", False, True), ("rollout", False, False), (RANDOM, False, False))
    assert one == (
        "Trust Occlusion: over 9 predictions, the probability falls most without the tokens that rank highest there. "
        "The best on one half of the predictions (Occlusion and ALTI) has an AOPC of 0.457 on the other half. Not "
        "shown to be better than a random order: Rollout."
    )
    two = answer(("occlusion", True, True), ("alti", True, True), (RANDOM, False, False))
    assert two.startswith("Trust Occlusion and ALTI, which these sentences cannot tell apart: ")
    none = answer(("occlusion", True, False), (RANDOM, False, False))
    assert none.startswith("Over 9 predictions, no method can be told apart from a random order. The best on one half")


def test_curves_begin_with_the_whole_sentence() -> None:
    curves = {"occlusion": (0.9, 0.5, 0.4, 0.3, 0.2, 0.1), RANDOM: (0.9, 0.8, 0.7, 0.6, 0.5, 0.4)}
    drawn = curves_picture(curves)
    assert [curve.name for curve in drawn.curves] == ["Occlusion", "Random order"]
    assert [name for _, name in drawn.names] == ["0%", "10%", "20%", "30%", "40%", "50%"]
    assert curves_table(curves)["deleted"] == [0, *SHARES]


def test_one_example_ranks_nothing():
    ranking = rank_methods([{"a": (1.0, 0.0), "b": (1.0, 0.2), RANDOM: (1.0, 0.5)}])
    assert all(not each.beats_random and math.isnan(each.error) for each in ranking.methods)
    assert [each.is_best for each in ranking.methods] == [True, True, False]
    assert ranking.best == ("a",)
    assert math.isnan(ranking.best_aopc)
    with pytest.raises(ValueError, match="give at least one"):
        rank_methods([])


def test_the_control_is_the_mean_over_forty_orders_of_each_prediction_and_seed(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
):
    drawn: list[tuple[frozenset[int], ...]] = []
    curves: list[DeletionCurves] = []

    def value(deleted: Collection[int]) -> float:
        return sum(map(math.sqrt, deleted))

    def record(_: Contrast, deletions: Sequence[Collection[int]]) -> list[float]:
        drawn.append(tuple(map(frozenset, deletions[len(SHARES) + 1 :])))  # after those of the method
        return list(map(value, deletions))

    monkeypatch.setattr("core.analysis.attribution.deletion_curves.probabilities_without", record)
    for source, target, seed in (
        (SOURCE, [7, 8, 9], 0),
        (SOURCE, [7, 8, 9], 1),
        (SOURCE, [7, 9, 8], 0),
        (SOURCE[::-1], [7, 8, 9], 0),
        (SOURCE, [7, 8, 9], 0),
    ):
        found = attribute_contrast(translator, source, target, 3, methods=["attention"])
        curves.append(deletion_curves(found, seed=seed))
    assert drawn[0] == drawn[4]
    assert len(set(drawn)) == 4
    assert len(drawn[0]) == 40 * (len(SHARES) + 1), "forty orders, as documented"
    for point, mean in enumerate(curves[0][RANDOM]):
        assert mean == pytest.approx(sum(map(value, drawn[0][point :: len(SHARES) + 1])) / 40)


def test_a_sample_is_the_same_for_equal_seeds(translator: Translator, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 2)
    sentences = ["A dog runs.", "Where is it?"]
    first, again = (list(sample_curves(translator, sentences, methods=["attention"])) for _ in range(2))
    assert first == again
    assert list(sample_curves(translator, sentences[1:], methods=["attention"])) == first[1:]
    assert [example.source for example in first] == sentences
    assert all(example.token != example.against for example in first)
    assert all(set(example.curves) == {"attention", RANDOM} for example in first)
    alone = next(islice(sample_curves(translator, sentences, contrastive=False, methods=["attention"]), 1))
    assert alone.against is None
    assert alone.token == first[0].token


def test_the_seed_of_a_sample_is_that_of_its_random_orders(translator: Translator, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 2)
    seeds: list[int] = []

    def record(_: object, seed: int = 0) -> DeletionCurves:
        seeds.append(seed)
        return {}

    monkeypatch.setattr("core.analysis.attribution.faithfulness.deletion_curves", record)
    list(sample_curves(translator, ["A dog runs.", "Where is it?"], methods=["attention"], seed=3))
    assert seeds == [3, 3]


def test_what_cannot_be_deleted_or_translated_is_named(translator: Translator):
    contrast = contrast_at(translator, SOURCE, TARGET, 3)
    with pytest.raises(ValueError, match=r"token 99 cannot be deleted: it is not one of the \d+ tokens of the sentenc"):
        probabilities_without(contrast, [{99}])
    with pytest.raises(ValueError, match="cannot be deleted"):
        probabilities_without(contrast, [{contrast.tokens.index("<s>")}])
    with pytest.raises(ValueError, match="sentence 1: there is nothing to translate"):
        next(sample_curves(translator, [" "]))
