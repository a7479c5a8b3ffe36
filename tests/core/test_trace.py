"""Places of a model: names, recorded values and edits, for post-norm and pre-norm layers and all kinds of attention."""

import re
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from core.model import AttentionWeights, Transformer
from core.model.config import TransformerConfig
from core.model.preset_configs import PRESETS
from core.trace import edit, explicit_attention, places, record

BASE = replace(
    PRESETS["tiny"],
    vocab_size=40,
    d_model=16,
    d_ff=24,
    num_heads=4,
    d_k=3,
    d_v=5,
    num_encoder_layers=3,
    num_decoder_layers=2,
)
CONFIGS = {
    "post": BASE,
    "pre": replace(BASE, norm="pre", final_norm=True),
    "relative": replace(BASE, norm="pre", final_norm=True, norm_kind="rms", positions="relative"),
    "neighbourhood": replace(BASE, neighbourhood=2, embedding_norm=True),
    "gated": replace(BASE, norm="pre", gated_feed_forward=True, activation="swish", tied="none"),
}
SOURCE = torch.tensor([[5, 6, 7, 8, 9, 2], [10, 11, 12, 2, 0, 0]])
TARGET = torch.tensor([[1, 20, 21, 22, 23], [1, 24, 25, 0, 0]])
REAL = TARGET != 0
B, S, T, D, F, V, H, DK, DV = 2, 6, 5, 16, 24, 40, 4, 3, 5


def made(config: TransformerConfig) -> Transformer:
    torch.manual_seed(0)
    return Transformer(config).eval()


@pytest.fixture(params=CONFIGS)
def model(request: pytest.FixtureRequest) -> Transformer:
    return made(CONFIGS[request.param])


def explicit_logits(model: Transformer) -> Tensor:
    with edit(model, {}):
        return model(SOURCE, TARGET)


def hooks(model: Transformer) -> int:
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())


def expected_shape(place: str) -> tuple[int, ...] | None:
    """Shape of a value as the module documents it; None for masks."""
    *path, value = place.split(".")
    if place in ("embedding.tokens", "target_embedding.tokens"):
        return None  # of the source, or of the target
    queries = S if path and path[0] == "encoder" else T
    keys = S if "cross_attention" in path or queries == S else T
    by_head = {
        "queries": (H, queries, DK),
        "keys": (H, keys, DK),
        "values": (H, keys, DV),
        "scores": (H, queries, keys),
        "weights": (H, queries, keys),
        "heads": (H, queries, DV),
    }
    if path and path[-1].isdigit():
        return (B, *by_head["heads" if value == "output" else value][1:])
    if value in by_head:
        return (B, *by_head[value])
    others = {
        "logits": (B, T, V),
        "memory": (B, keys, D),
        **dict.fromkeys(("inner", "multiplier", "hidden"), (B, queries, F)),
    }
    return None if value == "mask" else others.get(value, (B, queries, D))


@torch.no_grad()
def test_every_place_has_its_documented_shape(model: Transformer) -> None:
    found = places(model)
    with record(model, found) as values:
        model(SOURCE, TARGET)
    assert list(values) != []
    assert values.keys() == set(found)
    for place, value in values.items():
        shape = expected_shape(place)
        assert shape is None or tuple(value.shape) == shape, place


def test_names_are_unique_and_those_of_the_design(model: Transformer) -> None:
    found = places(model)
    assert len(found) == len(set(found))
    assert {
        "encoder.2.self_attention.weights",
        "decoder.1.cross_attention.weights",
        "decoder.1.cross_attention.3.output",
        "decoder.0.feed_forward.output",
        "logits",
    } <= set(found)
    assert not [place for place in found if not re.fullmatch(r"[a-z_]+(\.[a-z_0-9]+)*", place)]


def test_patterns_select_places() -> None:
    found = places(made(BASE), "decoder.*.cross_attention.weights")
    assert found == ["decoder.0.cross_attention.weights", "decoder.1.cross_attention.weights"]
    assert len(places(made(BASE), "encoder.0.self_attention.*.output")) == H


@torch.no_grad()
def test_recording_and_identities_leave_the_pass_bit_for_bit(model: Transformer) -> None:
    plain, expected, names = model(SOURCE, TARGET), explicit_logits(model), list(model.state_dict())
    found = [place for place in places(model) if CONFIGS["neighbourhood"] != model.config or "mask" not in place]
    with record(model, found) as values:
        assert torch.equal(model(SOURCE, TARGET)[REAL], expected[REAL])
    assert torch.equal(values["logits"][REAL], expected[REAL])
    with edit(model, dict.fromkeys(found, Tensor.clone)):
        assert list(model.state_dict()) == names
        assert torch.equal(model(SOURCE, TARGET)[REAL], expected[REAL])
    assert hooks(model) == 0
    assert torch.equal(model(SOURCE, TARGET), plain)


@torch.no_grad()
def test_one_place_makes_all_attention_explicit(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    """So a changed softmax acts in layers without a hook of their own."""
    layers, calls = len(places(model, "*_attention.weights")), list[Tensor]()
    monkeypatch.setattr(AttentionWeights, "forward", lambda _, scores: calls.append(scores) or scores.softmax(-1))
    fused = CONFIGS["neighbourhood"] != model.config  # which has no fused kernel for self-attention
    with record(model, ["logits"]):
        model(SOURCE, TARGET)
    assert len(calls) == layers
    with explicit_attention(model):
        model(SOURCE, TARGET)
    assert len(calls) == 2 * layers
    model(SOURCE, TARGET)
    assert (len(calls) == 2 * layers) == fused
    assert hooks(model) == 0


@torch.no_grad()
def test_an_edit_at_any_place_changes_the_logits(model: Transformer) -> None:
    expected = explicit_logits(model)

    def changed(value: Tensor) -> Tensor:
        return ~value if value.dtype == torch.bool else value * 0.5 + torch.linspace(0, 1, value.size(-1))

    for place in places(model):
        if re.search(r"\.[1-3]\.", place.removeprefix("encoder.").removeprefix("decoder.")[1:]):
            continue  # head 0 stands for all
        is_of_keys = place.endswith(".keys")  # a constant that is the same for all keys is cancelled by the softmax
        change = changed if not is_of_keys else Tensor.neg
        with edit(model, {place: change}):
            logits = model(SOURCE, TARGET)
        assert not torch.equal(logits[REAL], expected[REAL]), place


@torch.no_grad()
def test_values_are_those_of_the_formulas(model: Transformer) -> None:
    path = "decoder.1.cross_attention"
    wanted = ["queries", "keys", "values", "scores", "weights", "heads", "output", "memory", "input", "mask"]
    with record(model, [*(f"{path}.{each}" for each in wanted), "encoder.output"]) as found:
        model(SOURCE, TARGET)
    value = {each: found[f"{path}.{each}"] for each in wanted}
    layer = model.decoder.layers[1].cross_attention
    assert torch.equal(value["memory"], found["encoder.output"])
    scores = (value["queries"] / DK**0.5) @ value["keys"].mT
    torch.testing.assert_close(value["scores"], scores.masked_fill(~value["mask"], -torch.inf))
    torch.testing.assert_close(value["weights"], value["scores"].softmax(-1))
    torch.testing.assert_close(value["heads"], value["weights"] @ value["values"])
    torch.testing.assert_close(value["output"], layer.out_proj(value["heads"].transpose(1, 2).flatten(2)))
    torch.testing.assert_close(value["queries"], layer.project_qkv(value["input"], value["memory"])[0])


@torch.no_grad()
@pytest.mark.parametrize("name", ["post", "pre"])
def test_the_residual_connection_in_both_orders(name: str) -> None:
    model = made(CONFIGS[name])
    for stack, layer, first, then in (
        ("encoder", 1, "self_attention", "feed_forward"),
        ("decoder", 0, "self_attention", "cross_attention"),
        ("decoder", 1, "cross_attention", "feed_forward"),
    ):
        path = f"{stack}.{layer}.{first}"
        with record(model, places(model, f"{stack}.*")) as found:
            model(SOURCE, TARGET)
        before, added, after = (found[f"{path}.{each}"] for each in ("residual_before", "output", "residual_after"))
        assert torch.equal(after, found[f"{stack}.{layer}.{then}.residual_before"])
        if name == "post":
            assert torch.equal(found[f"{path}.norm_input"], before + added)
            assert torch.equal(found[f"{path}.norm_output"], after)
            assert torch.equal(found[f"{path}.input"], before)
        else:
            assert torch.equal(found[f"{path}.norm_input"], before)
            assert torch.equal(found[f"{path}.norm_output"], found[f"{path}.input"])
            assert torch.equal(before + added, after)
        last = len(getattr(model, stack).layers) - 1
        state = found[f"{stack}.{last}.feed_forward.residual_after"]
        assert torch.equal(getattr(model, stack).output_norm(state), found[f"{stack}.output"])


@torch.no_grad()
def test_an_edited_state_is_carried_and_read(model: Transformer) -> None:
    """An edit of the state before a sub-layer is one of the state that the residual connection carries, too."""
    place = "decoder.1.feed_forward.residual_before"
    state = torch.randn(B, T, D)
    with edit(model, {place: lambda _: state}), record(model, ["decoder.1.feed_forward.residual_after"]) as values:
        model(SOURCE, TARGET)
    layer = model.decoder.layers[1]
    expected = layer.residual(state, layer.feed_forward, layer.feed_forward_norm, layer.dropout)
    assert torch.equal(values["decoder.1.feed_forward.residual_after"], expected)


@torch.no_grad()
def test_one_head_is_seen_and_set_alone(model: Transformer) -> None:
    path = "encoder.1.self_attention"
    whole_and_one = [f"{path}.{each}" for each in ("heads", "3.output", "weights", "2.weights", "queries", "0.queries")]
    with record(model, whole_and_one) as values:
        model(SOURCE, TARGET)
    for whole, one, head in (("heads", "3.output", 3), ("weights", "2.weights", 2), ("queries", "0.queries", 0)):
        assert torch.equal(values[f"{path}.{one}"], values[f"{path}.{whole}"][:, head])
    with (
        edit(model, {f"{path}.3.output": torch.zeros_like, f"{path}.weights": lambda _: None}),
        record(model, [f"{path}.heads", f"{path}.output"]) as without,
    ):
        model(SOURCE, TARGET)
    expected = values[f"{path}.heads"].clone()
    expected[:, 3] = 0
    assert torch.equal(without[f"{path}.heads"], expected)
    layer = model.encoder.layers[1].self_attention
    assert torch.equal(without[f"{path}.output"], layer.out_proj(expected.transpose(1, 2).flatten(2)))


@torch.no_grad()
def test_edits_act_in_the_order_of_their_blocks() -> None:
    model, place = made(BASE), "decoder.0.feed_forward.hidden"
    with (
        record(model, [place]) as before,
        edit(model, {place: lambda value: value + 1}),
        edit(model, {place: lambda value: value * 2}),
        record(model, [place]) as after,
    ):
        model(SOURCE, TARGET)
    assert torch.equal(after[place], (before[place] + 1) * 2)


def test_gradients_by_a_place_are_those_through_it_alone(model: Transformer) -> None:
    """Beside finite differences of an edit; the state that a sub-layer reads is also carried past it."""
    model = model.double().requires_grad_(False)
    wanted = [
        "decoder.1.cross_attention.weights",
        "decoder.1.cross_attention.2.weights",
        "encoder.0.self_attention.3.output",
        "encoder.1.self_attention.keys",
        "decoder.0.self_attention.input",
        "decoder.0.self_attention.residual_before",
        "decoder.0.feed_forward.hidden",
    ]

    def loss(logits: Tensor) -> Tensor:
        return logits.log_softmax(-1)[0, -1, 7]

    with record(model, wanted) as values:
        found = torch.autograd.grad(loss(model(SOURCE, TARGET)), list(values.values()))
    for (place, value), gradient in zip(values.items(), found, strict=True):
        direction = torch.randn_like(value)
        step = 1e-6 * direction

        def moved(change: Tensor, place: str = place) -> float:
            with torch.no_grad(), edit(model, {place: lambda was: was + change}):
                return float(loss(model(SOURCE, TARGET)))

        slope = (moved(step) - moved(-step)) / 2e-6
        assert float((gradient * direction).sum()) == pytest.approx(slope, rel=1e-4, abs=1e-8), place


def test_nothing_is_recorded_for_gradients_without_them() -> None:
    model = made(BASE)
    with torch.no_grad(), record(model, ["encoder.output"]) as values:
        model(SOURCE, TARGET)
    assert not values["encoder.output"].requires_grad


@torch.no_grad()
def test_one_sentence_becomes_a_batch_of_edits() -> None:
    """The batch may grow: each row has its own edit, and equals a pass with that edit alone."""
    model, place = made(BASE), "decoder.1.feed_forward.residual_before"
    scales = torch.tensor([0.0, 0.5, 1.0])
    with edit(model, {place: lambda value: value * scales[:, None, None]}):
        logits = model(SOURCE[:1], TARGET[:1])
    for scale, row in zip(scales, logits, strict=True):
        with edit(model, {place: lambda value, scale=scale: value * scale}):
            torch.testing.assert_close(row, model(SOURCE[:1], TARGET[:1])[0])


@torch.no_grad()
def test_one_embedding_for_both_sides_is_told_apart_by_blocks() -> None:
    model = made(BASE)
    with record(model, "embedding.tokens") as of_source:
        memory = model.encode(SOURCE)
    with record(model, "embedding.tokens") as of_target:
        model.decode(TARGET, memory, model.source_mask(SOURCE))
    assert torch.equal(of_source["embedding.tokens"], model.embedding.tokens(SOURCE))
    assert torch.equal(of_target["embedding.tokens"], model.embedding.tokens(TARGET))
    assert "target_embedding.tokens" not in places(model)
    assert "target_embedding.tokens" in places(made(CONFIGS["gated"]))
