"""Relative positions, RMSNorm and gated networks against transformers' T5 and the formulas."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import nn

from core.capture import capture_attention
from core.model import FeedForward, RelativePositions, layer_norm, position_distances
from tests.core.tiny_models import LIKE_T5, TINY, tiny, unlike_fresh
from tests.lazy_imports import t5_layers, transformers
from tests.margins import assert_equal_to_rounding


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("classes", "most"), [(32, 128), (8, 10), (64, 1000), (4, 3)])
def test_the_classes_of_distances_are_those_of_t5(bidirectional: bool, classes: int, most: int) -> None:
    config = tiny(positions="relative", relative_buckets=classes, relative_max_distance=most).config
    distances = torch.arange(-2 * most, 2 * most + 1)
    found = RelativePositions(config, 2, bidirectional).classes(distances)
    reference = t5_layers.T5Attention._relative_position_bucket(distances, bidirectional, classes, most)
    assert found.tolist() == reference.tolist()
    assert len(set(found.tolist())) == classes - bidirectional, "no key has a distance of 0 and is later"


@pytest.mark.parametrize("decoder", [False, True])
def test_the_scores_of_a_stack_are_those_of_t5(decoder: bool) -> None:
    config = tiny(positions="relative").config
    stack = RelativePositions(config, 4, bidirectional=not decoder)
    shape = transformers.T5Config(d_model=32, d_kv=8, num_heads=4, is_decoder=decoder)
    reference = t5_layers.T5Attention(shape, has_relative_attention_bias=True, layer_idx=0)
    reference.relative_attention_bias.weight = stack.scores.weight
    found = stack(torch.ones(1, 1, 1, 40, dtype=torch.bool), position_distances(40, torch.device("cpu")))
    assert torch.equal(found, reference.compute_bias(40, 40))


def test_a_hidden_key_has_no_score() -> None:
    stack = RelativePositions(tiny(positions="relative").config, 4, bidirectional=True)
    mask = torch.tensor([[True, True, False], [True, True, True]])[:, None, None]
    found = stack(mask, position_distances(3, torch.device("cpu")))
    assert found.shape == (2, 4, 3, 3)
    assert (found[0, ..., 2] == -math.inf).all()
    assert torch.equal(found[0, ..., :2], found[1, ..., :2])


def test_rms_norm_and_the_networks_are_those_of_t5() -> None:
    x = torch.randn(2, 5, 32, generator=torch.Generator().manual_seed(0))
    norm, reference = layer_norm(tiny(norm_kind="rms", norm_eps=1e-2).config), t5_layers.T5LayerNorm(32, 1e-2)
    nn.init.uniform_(norm.weight)
    reference.weight = norm.weight
    torch.testing.assert_close(norm(x), reference(x), rtol=0, atol=1e-6)
    for gated, proj, kind in (
        (True, "gated-gelu", t5_layers.T5DenseGatedActDense),
        (False, "relu", t5_layers.T5DenseActDense),
    ):
        network = FeedForward(
            tiny(**LIKE_T5 | {"gated_feed_forward": gated, "activation": "gelu_tanh" if gated else "relu"}).config, 48
        )
        theirs = kind(transformers.T5Config(d_model=32, d_ff=48, feed_forward_proj=proj, dropout_rate=0.0))
        (theirs.wi_0 if gated else theirs.wi).weight = network.inner.weight
        theirs.wo.weight = network.outer.weight
        if network.multiplier is not None:
            theirs.wi_1.weight = network.multiplier.weight
        torch.testing.assert_close(network(x), theirs(x), rtol=0, atol=1e-6)


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_captured_weights_are_the_softmax_of_products_and_relative_scores(side: str, ids: Any) -> None:
    """One pair of tokens after the other, in every layer of a stack."""
    model = unlike_fresh(tiny(**LIKE_T5)).requires_grad_(False)
    stack, found = model.get_submodule(side), dict[str, torch.Tensor]()
    for name, module in model.named_modules():
        if name.startswith(side) and name.endswith(("self_attention.q_proj", "self_attention.k_proj")):
            module.register_forward_hook(lambda _module, _inputs, output, name=name: found.update({name: output[0]}))
    with capture_attention(model) as maps:
        model(*ids)
    length = (ids[0] if side == "encoder" else ids[1]).size(1)  # the first sentence has no padding
    for layer in range(len(stack.layers)):
        path = f"{side}.layers.{layer}.self_attention"
        queries, keys = (found[f"{path}.{name}_proj"].unflatten(-1, (4, 8)) for name in "qk")
        for query in range(length):
            places = range(length if side == "encoder" else query + 1)
            table = stack.relative_positions.scores.weight
            classes = stack.relative_positions.classes(torch.tensor([key - query for key in places]))
            for head in range(4):
                products = torch.stack([queries[query, head] @ keys[key, head] for key in places]) / math.sqrt(8)
                expected = (products + table[classes, head]).softmax(0)
                weights = maps[path][0, head, query, : len(places)]
                torch.testing.assert_close(weights, expected, rtol=0, atol=1e-5)


def test_without_hooks_the_numbers_are_the_same(ids: Any) -> None:
    """And no position is added to an embedding."""
    model = unlike_fresh(tiny(**LIKE_T5))
    with torch.inference_mode():
        fused = model(*ids)
        with capture_attention(model):
            assert_equal_to_rounding(model(*ids), fused, model)
        assert torch.equal(model.embedding(ids[0]), model.embedding.tokens(ids[0]))
    model.train()
    loss = model(*ids).logsumexp(-1).sum()  # the path of training
    loss.backward()
    assert all(each.grad is not None and each.grad.abs().sum() > 0 for each in model.parameters())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"relative_buckets": 6}, r"^relative_buckets \(6\) must be divisible by 4: half of them are for each dir"),
        (
            {"relative_buckets": 8, "relative_max_distance": 4},
            r"^relative_max_distance \(4\) must be above relative_buckets / 2 \(4\): that many distances have a class",
        ),
        ({"neighbourhood": 3}, r"^neighbourhood \(3\) must be None with relative positions: models with both are unkn"),
        ({"position_offset": 2}, r"^position_offset \(2\) must be 0 with relative positions: models with both are unk"),
    ],
)
def test_what_relative_positions_cannot_be(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tiny(positions="relative", **changes)


def test_other_positions_have_no_classes_to_check() -> None:
    assert tiny(relative_buckets=6).config != TINY
