"""Capture changes nothing and misses nothing."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from core.capture import AttentionMap, attention_path, capture_attention
from core.model import AttentionWeights, Transformer
from core.model.preset_configs import PRESETS
from core.trace import KINDS
from tests.margins import assert_equal_to_rounding

CONFIG = replace(PRESETS["tiny"], num_encoder_layers=3, num_decoder_layers=2, num_heads=2, num_decoder_heads=4)
PATHS = {f"encoder.layers.{i}.self_attention" for i in range(3)} | {
    f"decoder.layers.{i}.{kind}_attention" for i in range(2) for kind in ("self", "cross")
}


@pytest.fixture(scope="module")
def model() -> Transformer:
    torch.manual_seed(0)
    return Transformer(CONFIG).eval()


@pytest.fixture(scope="module")
def ids() -> tuple[Tensor, Tensor]:
    """Sentences of 6 and 4 tokens, translations of 5 and 3."""
    source = torch.tensor([[5, 6, 7, 8, 9, 2], [10, 11, 12, 2, 0, 0]])
    target = torch.tensor([[1, 20, 21, 22, 23], [1, 24, 25, 0, 0]])
    return source, target


@pytest.fixture(autouse=True)
def no_grad() -> Iterator[None]:
    with torch.no_grad():
        yield


def hooks(model: Transformer) -> int:
    return sum(len(module._forward_hooks) for module in model.modules())


def test_every_head_of_every_layer_gives_masked_keys_exactly_nothing(
    model: Transformer, ids: tuple[Tensor, Tensor]
) -> None:
    with capture_attention(model) as maps:
        model(*ids)
    assert maps.keys() == PATHS
    for path, weights in maps.items():
        queries = 6 if path.startswith("encoder") else 5
        keys = 5 if path.startswith("decoder") and "self" in path else 6
        heads = 2 if path.startswith("encoder") else 4
        assert weights.shape == (2, heads, queries, keys)
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, heads, queries))
        assert (weights >= 0).all()
    source_mask, target_mask = model.source_mask(ids[0]), model.target_mask(ids[1])
    for path, weights in maps.items():
        mask = (target_mask if path.startswith("decoder") and "self" in path else source_mask).expand_as(weights)
        assert (weights[~mask] == 0).all()
        assert (weights[mask] > 0).all()


def test_attention_path_names_what_is_captured() -> None:
    layers = {"encoder_self": 3, "decoder_self": 2, "cross": 2}
    assert {attention_path(kind, layer) for kind in KINDS for layer in range(layers[kind])} == PATHS


def test_captured_weights_are_the_softmax_of_the_scores(model: Transformer, ids: tuple[Tensor, Tensor]) -> None:
    with capture_attention(model) as maps:
        model(*ids)
    layer = model.encoder.layers[0].self_attention
    x = model.embedding(ids[0])
    queries, (keys, _) = layer._split(layer.q_proj(x)), layer.keys_values(x)
    scores = torch.einsum("bhqe,bhke->bhqk", queries, keys) / CONFIG.encoder_heads.d_k**0.5
    expected = scores.masked_fill(~model.source_mask(ids[0]), -1e30).softmax(-1)
    torch.testing.assert_close(maps["encoder.layers.0.self_attention"], expected)


def test_the_explicit_path_equals_the_fused_one(model: Transformer, ids: tuple[Tensor, Tensor]) -> None:
    layer = model.decoder.layers[0].cross_attention
    x, memory, mask = torch.randn(2, 5, CONFIG.d_model), torch.randn(2, 6, CONFIG.d_model), model.source_mask(ids[0])
    fused, fused_logits = layer(x, memory, mask), model(*ids)
    with capture_attention(model):
        explicit, explicit_logits = layer(x, memory, mask), model(*ids)
    assert_equal_to_rounding(explicit, fused, 4)
    real = ids[1] != CONFIG.pad_id
    assert_equal_to_rounding(explicit_logits[real], fused_logits[real], model)


def test_nothing_is_left_behind(model: Transformer, ids: tuple[Tensor, Tensor]) -> None:
    names, before = list(model.state_dict()), model(*ids)
    with capture_attention(model):
        assert list(model.state_dict()) == names
        model(*ids)
    assert hooks(model) == 0
    assert torch.equal(model(*ids), before)


def test_the_fused_path_runs_when_nobody_looks(
    model: Transformer, ids: tuple[Tensor, Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(AttentionWeights, "forward", lambda _self, scores: calls.append(1) or scores.softmax(-1))
    model(*ids)
    assert calls == []
    with capture_attention(model):
        model(*ids)
    assert len(calls) == len(PATHS)


def test_hooks_go_when_the_block_raises(model: Transformer, ids: tuple[Tensor, Tensor]) -> None:
    with pytest.raises(KeyError, match="mine"), capture_attention(model):
        raise KeyError("mine")
    assert hooks(model) == 0


def test_a_seam_that_did_not_fire(model: Transformer, ids: tuple[Tensor, Tensor]) -> None:
    nothing = (
        r"^no attention was captured in 7 of 7 layers \(decoder\.layers\.0\.cross_attention, .*, \.\.\.\): run "
        r"the whole model inside"
    )
    with pytest.raises(RuntimeError, match=nothing), capture_attention(model):
        pass
    with pytest.raises(RuntimeError, match=r"^no attention was captured in 4 of 7 layers"), capture_attention(model):
        model.encode(ids[0])
    assert hooks(model) == 0


def test_a_compiled_model_is_refused(ids: tuple[Tensor, Tensor]) -> None:
    torch.manual_seed(0)
    model = Transformer(replace(PRESETS["tiny"], num_encoder_layers=1, num_decoder_layers=1)).eval()
    model(*ids)  # works out the positions, without which the second call of the compiled model would compile once more
    compiled: Any = torch.compile(model, backend="eager")
    compiled(*ids)
    with (
        pytest.raises(RuntimeError, match=r"no attention was captured in 3 of 3 layers .* not through torch\.compile"),
        capture_attention(model),
    ):
        compiled(*ids)


def test_the_last_pass_counts(model: Transformer, ids: tuple[Tensor, Tensor]) -> None:
    source, target = ids
    with capture_attention(model) as twice:
        model(source, target)
        model(source[:1], target[:1])
    with capture_attention(model) as once:
        model(source[:1], target[:1])
    assert all(torch.equal(twice[path], once[path]) for path in PATHS)


def test_replaced_weights_are_attended_with_and_recorded(model: Transformer, ids: tuple[Tensor, Tensor]) -> None:
    seen: list[str] = []

    def uniform_cross(path: str, weights: Tensor) -> Tensor | None:
        seen.append(path)
        return torch.full_like(weights, 1 / weights.size(-1)) if "cross" in path else None

    with capture_attention(model) as plain:
        before = model(*ids)
    with capture_attention(model, uniform_cross) as maps:
        after = model(*ids)
    assert set(seen) == PATHS
    assert (after != before).any(-1).all()
    assert (maps["decoder.layers.1.cross_attention"] == 1 / 6).all()
    assert torch.equal(maps["encoder.layers.0.self_attention"], plain["encoder.layers.0.self_attention"])


def test_replacing_weights_by_themselves_changes_nothing(model: Transformer, ids: tuple[Tensor, Tensor]) -> None:
    with capture_attention(model):
        expected = model(*ids)
    with capture_attention(model, lambda _path, weights: weights.clone()):
        assert torch.equal(model(*ids), expected)


def test_a_head_can_be_made_to_look_at_one_token(model: Transformer, ids: tuple[Tensor, Tensor]) -> None:
    """With all weight on key 3, the output of a head is the value of key 3."""

    def third(path: str, weights: Tensor) -> Tensor:
        return torch.nn.functional.one_hot(torch.full(weights.shape[:-1], 3), weights.size(-1)).to(weights)

    layer = model.encoder.layers[0].self_attention
    outputs: list[Tensor] = []
    handle = layer.register_forward_hook(lambda _module, _inputs, output: outputs.append(output))
    with capture_attention(model, third):
        model(*ids)
    handle.remove()
    expected = layer.out_proj(layer.v_proj(model.embedding(ids[0])[:, 3:4])).expand(-1, 6, -1)
    torch.testing.assert_close(outputs[0], expected)


def test_training_mode_shows_weights_that_no_dropout_touched(ids: tuple[Tensor, Tensor]) -> None:
    torch.manual_seed(0)
    model = Transformer(replace(CONFIG, dropout=0.5)).train()
    with torch.enable_grad(), capture_attention(model) as maps:
        logits = model(*ids)
    assert logits.requires_grad
    for weights in maps.values():
        assert not weights.requires_grad
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


def test_attention_map_counts_its_tokens() -> None:
    weights = torch.full((4, 2, 3), 1 / 3)
    assert AttentionMap("cross", 0, weights, ("<s>", "a"), ("x", "y", "</s>"), ("a", "</s>")).num_heads == 4
    with pytest.raises(
        ValueError, match=r"^weights have shape \[4, 2, 3\], expected \[heads, 3, 2\] for these tokens$"
    ):
        AttentionMap("cross", 0, weights, ("x", "y", "</s>"), ("<s>", "a"))
    with pytest.raises(ValueError, match=r"^weights have shape \[2, 3\], expected \[heads, 2, 3\] for these tokens$"):
        AttentionMap("cross", 0, weights[0], ("<s>", "a"), ("x", "y", "</s>"))
    with pytest.raises(ValueError, match=r"^1 predicted tokens for 2 query tokens$"):
        AttentionMap("cross", 0, weights, ("<s>", "a"), ("x", "y", "</s>"), ("a",))
