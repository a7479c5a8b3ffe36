import copy
from dataclasses import replace
from typing import Any

import pytest
import torch

from core.analysis.agreement import DisagreementError
from core.analysis.attribution import forward_trace as trace_module
from core.analysis.attribution.alti import contribution_maps, contributions, decompose
from core.analysis.attribution.forward_trace import ForwardTrace, SubLayer, trace_forward
from core.analysis.attribution.rollout import source_share
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from tests.core.analysis.conftest import SOURCE, TARGET, random_translator
from tests.core.tiny_models import LIKE_T5


def sublayers(traced: ForwardTrace) -> list[SubLayer]:
    return [sublayer for layers in traced.sublayers.values() for sublayer in layers]


def test_the_parts_and_the_constant_add_up_to_the_true_output(traced: ForwardTrace):
    for sublayer in sublayers(traced):
        whole = decompose(sublayer)
        parts, residual = whole.parts(slice(0, len(sublayer.x)))
        assert torch.allclose(parts.sum(1) + residual + whole.constant, sublayer.output, atol=1e-4)


@pytest.mark.parametrize("changes", [{"norm_kind": "rms"}, LIKE_T5])
def test_the_parts_add_up_with_another_norm(changes: dict[str, Any], tokenizer: SentencePieceTokenizer):
    traced = trace_forward(random_translator(tokenizer, **changes), SOURCE, TARGET)
    test_the_parts_and_the_constant_add_up_to_the_true_output(traced)
    for sublayer in sublayers(traced):
        assert torch.allclose(contributions(sublayer).sum(-1), torch.ones(1))


def nearness_by_definition(sublayer: SubLayer) -> torch.Tensor:
    """||y_i||_1 - ||y_i - T_i(x_j)||_1 [Q, parts], a pair of tokens at a time, with the linearised LayerNorm written
    out; not yet clipped.

    Minus infinity of a key that the query may not attend to.
    """
    norm, transformed, is_cross = sublayer.norm, sublayer.transformed(), sublayer.map.kind == "cross"
    mixed = torch.einsum("hqk,hkd->qkd", sublayer.weights, transformed)
    before = sublayer.x + mixed.sum(1) + sublayer.attention.out_proj.bias
    rows: list[torch.Tensor] = []
    for i, output in enumerate(sublayer.output):
        keys = [mixed[i, j] + (sublayer.x[i] if i == j and not is_cross else 0) for j in range(len(sublayer.memory))]
        parts = torch.stack([*keys, sublayer.x[i]] if is_cross else keys)
        linear = (
            norm.weight * (parts - parts.mean(-1, keepdim=True)) / (before[i].var(unbiased=False) + norm.eps).sqrt()
        )
        rows.append(output.abs().sum() - (output - linear).abs().sum(-1))
    nearness = torch.stack(rows)
    return nearness if is_cross else nearness.masked_fill(~sublayer.map.visible, -torch.inf)


def test_contributions_by_their_definition(traced: ForwardTrace):
    for sublayer in sublayers(traced):
        clipped = nearness_by_definition(sublayer).clamp(min=0)
        assert torch.allclose(contributions(sublayer), clipped / clipped.sum(-1, keepdim=True), atol=1e-4)


def test_with_the_norm_first_the_output_is_the_sum(traced_norm_first: ForwardTrace):
    for sublayer in sublayers(traced_norm_first):
        whole, is_cross = decompose(sublayer), sublayer.map.kind == "cross"
        parts, residual = whole.parts(slice(0, len(sublayer.x)))
        assert torch.equal(residual, sublayer.x)
        assert torch.allclose(parts.sum(1) + residual + sublayer.attention.out_proj.bias, sublayer.output, atol=1e-4)
        found = contributions(sublayer)
        for i, output in enumerate(sublayer.output):
            own = [part + (residual[i] if i == j and not is_cross else 0) for j, part in enumerate(parts[i])]
            near = [output.abs().sum() - (output - part).abs().sum() for part in (*own, *residual[i : i + is_cross])]
            visible = sublayer.map.visible[i] if not is_cross else torch.ones(len(near), dtype=torch.bool)
            clipped = torch.stack(near).masked_fill(~visible, 0).clamp(min=0)
            assert torch.allclose(found[i], clipped / clipped.sum(), atol=1e-4)


def test_rolled_out_rows_sum_to_one_with_the_norm_first(traced_norm_first: ForwardTrace):
    _, rolled = contribution_maps(traced_norm_first)
    for cross, prefix in zip(rolled["cross"], rolled["decoder_self"], strict=True):
        assert torch.allclose(cross.weights.sum(-1) + prefix.weights.sum(-1), torch.ones(1))


@pytest.mark.parametrize("seed", range(3))
def test_the_nearest_part_has_the_share_of_a_row_of_zeros(seed: int, translator: Translator):
    """A LayerNorm with a large bias dominates the output: then no part is nearer to it than zero."""
    biased = Translator(copy.deepcopy(translator.model), translator.tokenizer)
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in biased.model.named_parameters():
        if name.endswith("attention_norm.bias"):
            parameter.copy_(30 * torch.randn(parameter.shape, generator=generator))
    traced, num_clipped = trace_forward(biased, "A dog runs.", "Ein Hund."), 0
    for sublayer in sublayers(traced):
        nearness, found = nearness_by_definition(sublayer), contributions(sublayer)
        assert torch.allclose(found.sum(-1), torch.ones(1))
        for row in (nearness.amax(-1) < -1e-3).nonzero().flatten().tolist():
            assert nearness[row][found[row] > 0].min() >= nearness[row].max() - 1e-3  # as near as float32 can tell
            num_clipped += 1
    assert num_clipped > 0
    _, rolled = contribution_maps(traced)
    for cross, prefix in zip(rolled["cross"], rolled["decoder_self"], strict=True):
        assert torch.allclose(cross.weights.sum(-1) + prefix.weights.sum(-1), torch.ones(1))


def test_a_first_row_that_is_clipped_still_comes_from_the_prefix(translator: Translator):
    """`<s>` attends only to itself: its share of self-attention is 1, so the rollout is not all source."""
    found: list[float] = []
    for sign in (1, -1):
        biased = Translator(copy.deepcopy(translator.model), translator.tokenizer)
        for layer in biased.model.decoder.layers:
            layer.self_attention_norm.bias.copy_(sign * 30 * (2 * torch.arange(32).remainder(2) - 1))
        traced = trace_forward(biased, "A dog runs.", "Ein Hund.")
        first = torch.stack([nearness_by_definition(sublayer)[0, 0] for sublayer in traced.sublayers["decoder_self"]])
        found += first.tolist()
        layerwise, rolled = contribution_maps(traced)
        assert all(layer.weights[0, 0, 0] == 1 for layer in layerwise["decoder_self"])
        residual = 1 - layerwise["cross"][0].weights[0, 0].sum()
        assert rolled["decoder_self"][0].weights[0, 0, 0] == pytest.approx(float(residual), abs=1e-5)
    assert min(found) < 0 < max(found)


def test_blocks_do_not_change_the_result(traced: ForwardTrace, monkeypatch: pytest.MonkeyPatch):
    whole = [contributions(sublayer) for sublayer in sublayers(traced)]
    monkeypatch.setattr(trace_module, "BLOCK_NUMBERS", 1000)
    for expected, sublayer in zip(whole, sublayers(traced), strict=True):
        assert len(list(sublayer.row_blocks())) > 1
        assert torch.allclose(contributions(sublayer), expected, atol=1e-6)


def test_rows_and_causality(traced: ForwardTrace):
    layerwise, rolled = contribution_maps(traced)
    for maps in (layerwise, rolled):
        assert all(layer.weights.min() >= 0 for layers in maps.values() for layer in layers)
        assert all(layer.weights.triu(1).max() == 0 for layer in maps["decoder_self"])
        assert all(torch.allclose(layer.weights.sum(-1), torch.ones(1)) for layer in maps["encoder_self"])
    assert all((layer.weights.sum(-1) < 1).all() for layer in layerwise["cross"])
    for cross, prefix in zip(rolled["cross"], rolled["decoder_self"], strict=True):
        assert torch.allclose(cross.weights.sum(-1) + prefix.weights.sum(-1), torch.ones(1))
    assert all(0 < share < 1 for share in source_share(rolled))


def test_a_layer_of_another_make_is_refused(traced: ForwardTrace):
    sublayer = traced.sublayers["cross"][1]
    refused = r"^decoder\.1\.cross_attention\.residual_after, as the sum of its parts: the analysis computes"
    with pytest.raises(DisagreementError, match=refused):
        contributions(replace(sublayer, output=sublayer.output + 1))
