import copy
from typing import Any

import pytest
import torch

from core.analysis.interventions import patching
from core.analysis.interventions.pair_runs import COMPONENTS, Metric, PairRuns, Patch, side_of
from core.text.tokenizer import SentencePieceTokenizer
from core.trace import KINDS
from core.translator import Translator
from tests.core.analysis.conftest import PRE_NORM, random_translator
from tests.core.analysis.interventions.conftest import CLEAN, CORRUPTED, POSITION, Record, brute_force, linear
from tests.core.tiny_models import LIKE_UMT5
from tests.margins import assert_equal_to_rounding, margin

NEARBY: dict[str, Any] = {"neighbourhood": 3, "tied": "none"}
VARIANTS: list[dict[str, Any]] = [{}, LIKE_UMT5, NEARBY]


@pytest.mark.parametrize(
    ("changes", "into", "base"),
    [
        ({}, "corrupted", 1),
        ({}, "clean", 0),
        (PRE_NORM, "corrupted", 1),
        (LIKE_UMT5, "clean", 0),
        (NEARBY, "corrupted", 1),
    ],
)
def test_a_patch_is_that_of_a_hook_in_a_whole_pass(
    tokenizer: SentencePieceTokenizer, record: Record, changes: dict[str, Any], into: patching.Into, base: int
):
    runs = record(random_translator(tokenizer, **changes))
    patches = [
        Patch(component, layer, position)
        for component in COMPONENTS
        for layer, position in ((0, 3), (1, 4), (runs.num_layers(component) - 1, runs.num_positions(component) - 1))
    ] + [Patch(kind, 1, 4, 2) for kind in KINDS]
    found = patching.patched_metric(runs, [[patch] for patch in patches], into)
    expected = runs.measured(brute_force(runs, patches, base))
    for patch, value, other in zip(patches, found.tolist(), expected.tolist(), strict=True):
        assert value == pytest.approx(other, abs=2e-4), patch


@pytest.mark.parametrize("changes", VARIANTS)
def test_a_row_of_one_patch_is_that_of_a_row_of_several(
    tokenizer: SentencePieceTokenizer, record: Record, changes: dict[str, Any]
):
    """A row of one patch continues the recorded run; a row of several, here the same twice, is a pass with hooks."""
    runs = record(random_translator(tokenizer, **changes))
    patches = [Patch(each, layer, p) for each in COMPONENTS for layer in (0, 1) for p in (0, 3, POSITION)]
    patches += [Patch(kind, 1, p, 1) for kind in KINDS for p in (2, POSITION)]
    found = patching.patched_metric(runs, [[patch] for patch in patches])
    expected = patching.patched_metric(runs, [[patch, patch] for patch in patches])
    assert found.tolist() == pytest.approx(expected.tolist(), abs=2e-4)
    assert len(set(found.tolist())) > len(patches) / 4  # a neighbourhood leaves many without effect


@pytest.mark.parametrize(
    ("changes", "metric"),
    [({}, "difference"), ({}, "log_prob"), (PRE_NORM, "difference"), (LIKE_UMT5, "log_prob"), (NEARBY, "difference")],
)
def test_all_patches_together_are_the_donor(
    tokenizer: SentencePieceTokenizer, record: Record, changes: dict[str, Any], metric: Metric
):
    runs = record(random_translator(tokenizer, **changes), metric=metric)
    assert patching.all_patched(runs, "corrupted") == pytest.approx(runs.clean, abs=1e-4)
    assert patching.all_patched(runs, "clean") == pytest.approx(runs.corrupted, abs=1e-4)
    last = runs.num_layers("encoder_state") - 1  # the memory is all that the decoder reads of the source
    memory = patching.patched_metric(runs, [[Patch("encoder_state", last)]])
    assert float(memory) == pytest.approx(runs.clean, abs=1e-4)


def test_no_patch_is_exactly_the_base(runs: PairRuns):
    assert patching.patched_metric(runs, [[], []]).tolist() == [runs.corrupted] * 2
    assert patching.patched_metric(runs, [[]], "clean").tolist() == [runs.clean]


def test_where_both_runs_agree_nothing_is_recovered(tokenizer: SentencePieceTokenizer, record: Record):
    """Self-attention of the first decoder layer reads the prefix alone, and a neighbourhood the tokens nearby."""
    runs = record(random_translator(tokenizer, neighbourhood=3))
    found = patching.patching_map(runs)
    model, equal, near = runs.translator.model, found["decoder_self"].values[0], found["encoder_state"].values[0]
    assert_equal_to_rounding(equal, torch.full_like(equal, runs.corrupted), model)
    assert_equal_to_rounding(near[:4], torch.full_like(near[:4], runs.corrupted), model)
    assert (near[5:8] - runs.corrupted).abs().max() > 10 * margin(runs.corrupted, model)
    logits = brute_force(runs, [Patch("encoder_state", 0, 2)], 1)
    assert float(runs.measured(logits)) == pytest.approx(runs.corrupted, abs=1e-5)


def test_later_positions_change_nothing_earlier(translator: Translator, record: Record):
    """A longer prefix has the same metric at the same position; in the last layer only the last position acts."""
    runs = record()
    longer = record(position=POSITION + 2)
    found = patching.patching_map(runs)
    for component in COMPONENTS:
        if side_of(component) == "decoder":
            both = longer.outputs[component, 2][:, : POSITION + 1]
            assert torch.allclose(both, runs.outputs[component, 2], atol=1e-5)
            recovered = found[component].recovered[2]
            assert recovered[:-1].abs().max() < 1e-4
    assert found["decoder_state"].recovered[2, -1] == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("into", ["corrupted", "clean"])
def test_effects_are_normalised(runs: PairRuns, into: patching.Into):
    ends = patching.Effects(runs.clean, runs.corrupted, torch.tensor([runs.corrupted, runs.clean], dtype=torch.float64))
    assert ends.recovered.tolist() == [0, 1]
    assert ends.moved(into).tolist() == ([0, 1] if into == "corrupted" else [1, 0])


def test_in_a_linear_model_the_pieces_add_up(translator: Translator, record: Record):
    """Effects of positions, heads and of a sub-layer's writes sum, and each is the product of the matrices after it."""
    runs = record(linear(translator))
    found = patching.patching_map(runs)
    assert found["encoder_state"].recovered.sum(1).tolist() == pytest.approx([1, 1], abs=1e-3)
    assert found["decoder_state"].recovered[-1].sum() == pytest.approx(1, abs=1e-3)
    last = runs.num_layers("cross") - 1
    heads = patching.head_effects(runs, "cross", last, POSITION).recovered
    assert heads.sum() == pytest.approx(float(found["cross"].recovered[last, POSITION]), abs=1e-4)
    # the last cross-attention: its change, then that times 1 + W_1 W_2 of the feed-forward network, read by A minus B
    model = runs.translator.model
    outputs, network = runs.outputs["cross", last], model.decoder.layers[last].feed_forward
    change = (outputs[0] - outputs[1])[POSITION]
    change = change + network.outer.weight @ (network.inner.weight @ change)  # type: ignore[operator, union-attr]
    direction = model.unembedding[runs.token] - model.unembedding[runs.against]
    expected = float(change @ direction) / (runs.clean - runs.corrupted)
    assert float(found["cross"].recovered[last, POSITION]) == pytest.approx(expected, abs=1e-4)


def test_a_part_is_measured_at_a_time(runs: PairRuns):
    parts = list(patching.measured_parts(runs))
    assert len(parts) == patching.num_parts(runs) == 3 * 2 + 4 * 3
    some = patching.patching_map(runs, parts=parts[:1])
    assert not some["encoder_self"].values[0].isnan().any()
    assert some["encoder_self"].values[1].isnan().all()
    whole, of_parts = patching.patching_map(runs), patching.patching_map(runs, parts=parts)
    assert all(torch.equal(of_parts[each].values, whole[each].values) for each in COMPONENTS)


def test_the_mean_of_pairs_is_a_ratio_of_means(runs: PairRuns, record: Record):
    other = record(corrupted="The old house is sold.", token=runs.token, against=runs.against)
    maps = [patching.patching_map(each) for each in (runs, other)]
    found = patching.mean_map(maps)["cross"].recovered[1, 2]
    gains = [each["cross"].values[1, 2] - each["cross"].corrupted for each in maps]
    wholes = [each["cross"].clean - each["cross"].corrupted for each in maps]
    assert found == pytest.approx(float(sum(gains)) / sum(wholes))
    with pytest.raises(ValueError, match="average pairs of equal length in tokens with one prefix"):
        patching.mean_effects([maps[0]["cross"], maps[0]["encoder_self"]])
    opposite = patching.Effects(runs.corrupted, runs.clean, maps[0]["cross"].values)
    with pytest.raises(ValueError, match="the differences of these pairs cancel out"):
        patching.mean_effects([maps[0]["cross"], opposite])


def test_the_second_token_is_the_best_of_the_corrupted_run_that_a_search_generates(
    runs: PairRuns, record: Record, tokenizer: SentencePieceTokenizer
):
    logits = runs.logits[1].tolist()
    second, third = sorted(set(range(len(logits))) - {runs.token}, key=logits.__getitem__, reverse=True)[:2]
    assert runs.against == second
    assert record(random_translator(tokenizer, never_ids=(second,)), token=runs.token).against == third
    assert runs.clean == pytest.approx(float(runs.logits[0, runs.token] - runs.logits[0, runs.against]))
    log_probs = runs.logits.log_softmax(-1)
    both = log_probs[:, runs.token] - log_probs[:, runs.against]
    assert both.tolist() == pytest.approx([runs.clean, runs.corrupted], abs=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"corrupted": "The old sea is cold."}, r"has 15 tokens .*, the corrupted one 14 .*: patching needs equally m"),
        ({"corrupted": CLEAN}, "both sentences have the same tokens: change a word of the corrupted one"),
        ({"position": 99}, r"position 99 is not one of the \d+ predicted tokens: give 0 to"),
        ({"token": 7, "against": 7}, "both tokens are .*: give another one to compare with"),
        ({"against": 10**6}, "against is 1000000, expected the id of a target token, 0 to 399"),
        ({"corrupted": ""}, "there is nothing to translate"),
    ],
)
def test_pairs_that_cannot_be_patched_are_refused(record: Record, options: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        record(**options)


def test_pairs_without_a_difference_are_refused(translator: Translator, record: Record):
    deaf = Translator(copy.deepcopy(translator.model), translator.tokenizer)
    for layer in deaf.model.decoder.layers:
        layer.cross_attention.out_proj.weight.zero_()  # type: ignore[operator, union-attr]
    with pytest.raises(ValueError, match="so there is nothing to recover: choose another predicted token or another"):
        record(deaf)
    with pytest.raises(ValueError, match=r"the log-probability is -\d+"):
        record(deaf, metric="log_prob")


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (Patch("cross", 3), "cross has no layer 3: expected 0 to 2"),
        (Patch("encoder_self", 0, 99), "encoder_self has no position 99: expected 0 to 14"),
        (Patch("encoder_self", 0, 0, 3), "encoder_self has no head 3: expected 0 to 2"),
        (Patch("decoder_state", 0, 0, 0), "decoder_state has no heads: patch a head of encoder_self, decoder_self"),
    ],
)
def test_patches_that_do_not_exist_are_refused(runs: PairRuns, patch: Patch, message: str):
    with pytest.raises(ValueError, match=message):
        patching.patched_metric(runs, [[patch]])


def test_the_sources_and_the_prefix_are_named(runs: PairRuns):
    clean, corrupted = runs.source_tokens
    assert len(clean) == len(corrupted) == runs.num_positions("encoder_self")
    assert clean != corrupted
    assert len(runs.fed_tokens) == POSITION + 1
    assert runs.texts == (CLEAN, CORRUPTED)
