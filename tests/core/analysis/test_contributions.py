from dataclasses import replace

import pytest
import torch

from core.analysis import trace as trace_module
from core.analysis.contributions import contribution_maps, contributions, decompose
from core.analysis.rollout import source_share
from core.analysis.trace import SubLayer, Trace


def sublayers(traced: Trace) -> list[SubLayer]:
    return [sublayer for layers in traced.sublayers.values() for sublayer in layers]


def test_the_parts_and_the_constant_add_up_to_the_true_output(traced: Trace):
    for sublayer in sublayers(traced):
        whole = decompose(sublayer)
        parts, residual = whole.parts(slice(0, len(sublayer.x)))
        assert torch.allclose(parts.sum(1) + residual + whole.constant, sublayer.output, atol=1e-4)


def test_contributions_by_their_definition(traced: Trace):
    """Straight from the formula, one pair of tokens at a time, with the linearised LayerNorm written out."""
    for sublayer in (traced.sublayers["encoder_self"][1], traced.sublayers["cross"][2]):
        norm, transformed = sublayer.norm, sublayer.transformed()
        mixed = torch.einsum("hqk,hkd->qkd", sublayer.weights, transformed)
        before = sublayer.x + mixed.sum(1) + sublayer.attention.out_proj.bias

        def linear(vector: torch.Tensor, row: int, before: torch.Tensor = before, norm: torch.nn.LayerNorm = norm) -> torch.Tensor:
            return norm.weight * (vector - vector.mean()) / (before[row].var(unbiased=False) + norm.eps).sqrt()

        found = contributions(sublayer)
        for i in range(len(sublayer.x)):
            keys = [mixed[i, j] + (sublayer.x[i] if i == j and sublayer.map.kind != "cross" else 0) for j in range(len(sublayer.memory))]
            if sublayer.map.kind == "cross":
                keys.append(sublayer.x[i])
            output = sublayer.output[i]
            row = torch.stack([(output.abs().sum() - (output - linear(key, i)).abs().sum()).clamp(min=0) for key in keys])
            assert torch.allclose(found[i], row / row.sum(), atol=1e-4)


def test_blocks_do_not_change_the_result(traced: Trace, monkeypatch: pytest.MonkeyPatch):
    whole = [contributions(sublayer) for sublayer in sublayers(traced)]
    monkeypatch.setattr(trace_module, "BLOCK_NUMBERS", 1000)
    for expected, sublayer in zip(whole, sublayers(traced), strict=True):
        assert len(list(sublayer.row_blocks())) > 1
        assert torch.allclose(contributions(sublayer), expected, atol=1e-6)


def test_rows_and_causality(traced: Trace):
    layerwise, rolled = contribution_maps(traced)
    for maps in (layerwise, rolled):
        assert all(layer.weights.min() >= 0 for layers in maps.values() for layer in layers)
        assert all(layer.weights.triu(1).max() == 0 for layer in maps["decoder_self"])
        assert all(torch.allclose(layer.weights.sum(-1), torch.ones(1)) for layer in maps["encoder_self"])
    assert all((layer.weights.sum(-1) < 1).all() for layer in layerwise["cross"])
    for cross, prefix in zip(rolled["cross"], rolled["decoder_self"], strict=True):
        assert torch.allclose(cross.weights.sum(-1) + prefix.weights.sum(-1), torch.ones(1))
    assert all(0 < share < 1 for share in source_share(rolled))


def test_a_layer_of_another_make_is_refused(traced: Trace):
    sublayer = traced.sublayers["cross"][1]
    with pytest.raises(RuntimeError, match="the parts of layer 1 of cross miss its output by up to"):
        contributions(replace(sublayer, output=sublayer.output + 1))
