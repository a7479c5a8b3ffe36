"""The architecture against the paper's formulas and PyTorch's Transformer."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from core.config import PRESETS, HeadShape
from core.model import (
    FIRST_POSITIONS,
    PAD_PIXEL,
    Dropout,
    LearnedPositions,
    MultiHeadAttention,
    SinusoidalPositions,
    Transformer,
    sinusoidal_encoding,
)

TINY = replace(PRESETS["tiny"], dropout=0.0)
PAD, BOS = TINY.pad_id, TINY.bos_id


def tiny(seed: int = 0, **changes: Any) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(replace(TINY, **changes)).eval()


@pytest.fixture(scope="module")
def ids() -> tuple[Tensor, Tensor]:
    """Three sentences of lengths 9, 6, 2 and their translations of 7, 3, 5 tokens."""
    generator = torch.Generator().manual_seed(0)
    source = torch.randint(3, TINY.vocab_size, (3, 9), generator=generator)
    target = torch.randint(3, TINY.vocab_size, (3, 7), generator=generator)
    for row, (source_length, target_length) in enumerate(((9, 7), (6, 3), (2, 5))):
        source[row, source_length:] = PAD
        target[row, target_length:] = PAD
    target[:, 0] = BOS
    return source, target


@pytest.fixture(scope="module")
def patches() -> Tensor:
    """Three images of 9, 6 and 2 patches of 4 x 4 pixels."""
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(3, 9, 16, generator=generator)
    for row, length in enumerate((9, 6, 2)):
        images[row, length:] = PAD_PIXEL
    return images


# --- Against torch.nn.Transformer ------------------------------------------------------------------------------------


def unlike_fresh(model: Transformer) -> Transformer:
    """Biases and norms other than zeros and ones, so that omitting one is detected."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return model


def torch_transformer(model: Transformer) -> nn.Transformer:
    """PyTorch's Transformer with this model's weights."""
    config = model.config
    common = {
        "d_model": config.d_model,
        "dropout": 0.0,
        "activation": {"relu": "relu", "gelu": "gelu", "swish": nn.functional.silu}[config.activation],
        "layer_norm_eps": config.norm_eps,
        "norm_first": config.norm == "pre",
        "batch_first": True,
        "bias": config.attention_bias,  # of everything, in PyTorch
    }
    d_ff, heads = config.decoder_d_ff or config.d_ff, config.num_decoder_heads or config.num_heads
    encoder_layer = nn.TransformerEncoderLayer(nhead=config.num_heads, dim_feedforward=config.d_ff, **common)
    decoder_layer = nn.TransformerDecoderLayer(nhead=heads, dim_feedforward=d_ff, **common)
    norms = [
        nn.LayerNorm(config.d_model, config.norm_eps, bias=config.attention_bias) if config.final_norm else None
        for _ in range(2)
    ]
    reference = nn.Transformer(
        d_model=config.d_model,
        nhead=config.num_heads,
        custom_encoder=nn.TransformerEncoder(encoder_layer, config.num_encoder_layers, norms[0], False),
        custom_decoder=nn.TransformerDecoder(decoder_layer, config.num_decoder_layers, norms[1]),
        batch_first=True,
    )
    state = torch_state(dict(model.named_parameters()))
    reference.load_state_dict({name: state[name] for name in state if config.attention_bias or "bias" not in name})
    return reference


def torch_state(ours: dict[str, Tensor]) -> dict[str, Tensor]:
    """Our parameters (or their gradients) with the names and layout of torch.nn.Transformer."""
    renamed = {
        "self_attention_norm": "norm1",
        "cross_attention_norm": "norm2",
        "self_attention": "self_attn",
        "cross_attention": "multihead_attn",
        "feed_forward.inner": "linear1",
        "feed_forward.outer": "linear2",
        "output_norm": "norm",
    }
    state: dict[str, Tensor] = {}
    for name, tensor in ours.items():
        if not name.startswith(("encoder.", "decoder.")) or ".input_norm" in name:
            continue
        if ".q_proj." in name:
            tensor = torch.cat([ours[name.replace("q_proj", f"{part}_proj")] for part in "qkv"])
            name = name.replace("q_proj.", "in_proj_")
        elif ".k_proj." in name or ".v_proj." in name:
            continue
        name = name.replace("feed_forward_norm", "norm3" if name.startswith("decoder") else "norm2")
        for old, new in renamed.items():
            name = name.replace(old, new)
        state[name] = tensor
    return state


def torch_logits(model: Transformer, reference: nn.Transformer, source: Tensor, target: Tensor) -> Tensor:
    states = reference(
        model.encoder.input_norm(embedded(model, source)),
        model.decoder.input_norm(model.fed_embedding(target)),
        tgt_mask=torch.ones(target.size(1), target.size(1), dtype=torch.bool).triu(1),  # PyTorch: True may not attend
        src_key_padding_mask=source == PAD if source.dim() == 2 else source[..., 0] == PAD_PIXEL,
        tgt_key_padding_mask=target == PAD,
        memory_key_padding_mask=source == PAD if source.dim() == 2 else source[..., 0] == PAD_PIXEL,
    )
    return model.project(states)


def embedded(model: Transformer, source: Tensor) -> Tensor:
    """Tokens, or projected patches with their positions."""
    if model.patch_embedding is None:
        return model.embedding(source)
    weight, bias = model.patch_embedding.pixels.weight, model.patch_embedding.pixels.bias
    projected = math.sqrt(TINY.d_model) * (torch.einsum("bsp,dp->bsd", source, weight) + bias)
    return projected + sinusoidal_encoding(source.size(1), TINY.d_model)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"num_heads": 2, "num_decoder_heads": 4},
        {"norm": "pre"},
        {"norm": "pre", "final_norm": True},
        {"final_norm": True, "norm_eps": 0.1},
        {"activation": "gelu", "norm": "pre", "norm_eps": 1e-3},
        {"activation": "swish", "decoder_d_ff": 40},
        {"embedding_norm": True},
        {"tied": "target", "target_vocab_size": 70, "output_bias": True},
        {"tied": "inputs", "scale_embedding": False},
        {"tied": "none", "target_vocab_size": 70, "position_order": "halves"},
    ],
)
def test_same_numbers_as_torch(changes: dict[str, Any], ids: tuple[Tensor, Tensor]) -> None:
    model = unlike_fresh(tiny(num_encoder_layers=3, **changes))
    reference = torch_transformer(model).eval()
    with torch.no_grad():
        expected, found = torch_logits(model, reference, *ids), model(*ids)
    real = ids[1] != PAD
    torch.testing.assert_close(found[real], expected[real], rtol=0, atol=1e-5)


@pytest.mark.parametrize("changes", [{}, {"embedding_norm": True, "norm": "pre"}])
def test_same_numbers_as_torch_for_images(changes: dict[str, Any], ids: tuple[Tensor, Tensor], patches: Tensor) -> None:
    model = unlike_fresh(tiny(patch_size=4, **changes))
    reference = torch_transformer(model).eval()
    with torch.no_grad():
        expected, found = torch_logits(model, reference, patches, ids[1]), model(patches, ids[1])
    real = ids[1] != PAD
    torch.testing.assert_close(found[real], expected[real], rtol=0, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("changes", [{}, {"neighbourhood": 4}, {"positions": "learned"}])
def test_padding_of_images_changes_no_logit(
    changes: dict[str, Any], ids: tuple[Tensor, Tensor], patches: Tensor
) -> None:
    model, target = unlike_fresh(tiny(patch_size=4, **changes)), ids[1][:, :2]
    together = model(patches, target)
    for row, length in enumerate((9, 6, 2)):
        alone = model(patches[row : row + 1, :length], target[row : row + 1])
        torch.testing.assert_close(together[row : row + 1], alone, rtol=0, atol=1e-5)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_same_numbers_as_torch_without_biases(norm: str, ids: tuple[Tensor, Tensor]) -> None:
    """PyTorch leaves out the biases of LayerNorm too: ours are zero here."""
    model = unlike_fresh(tiny(norm=norm, final_norm=True, attention_bias=False, feed_forward_bias=False))
    biases = [name for name, _ in model.named_parameters() if name.endswith("bias")]
    assert biases
    assert all("_norm." in name for name in biases)
    with torch.no_grad():
        for name in biases:
            model.get_parameter(name).zero_()
    reference = torch_transformer(model).eval()
    with torch.no_grad():
        expected, found = torch_logits(model, reference, *ids), model(*ids)
    real = ids[1] != PAD
    torch.testing.assert_close(found[real], expected[real], rtol=0, atol=1e-5)


@pytest.mark.parametrize("part", ["attention", "feed_forward"])
def test_no_bias_is_a_bias_of_zero(part: str, ids: tuple[Tensor, Tensor]) -> None:
    without = unlike_fresh(tiny(**{f"{part}_bias": False}))
    model = tiny()
    missing = model.load_state_dict(without.state_dict(), strict=False).missing_keys
    assert missing == [
        name for name in model.state_dict() if part in name and name.endswith("bias") and "norm" not in name
    ]
    torch.testing.assert_close(without(*ids), model(*ids), rtol=0, atol=1e-6)


def test_the_papers_layers_to_the_bit(ids: tuple[Tensor, Tensor]) -> None:
    """Section 3 written out with the parts: the variants of other projects leave its numbers unchanged."""
    model, (source, target) = unlike_fresh(tiny()), ids
    x, source_mask = model.embedding(source), model.source_mask(source)
    for layer in model.encoder.layers:
        x = layer.self_attention_norm(x + layer.self_attention(x, x, source_mask))
        x = layer.feed_forward_norm(x + layer.feed_forward.outer(layer.feed_forward.inner(x).relu()))
    memory, x = x, model.embedding(target)
    for layer in model.decoder.layers:
        x = layer.self_attention_norm(x + layer.self_attention(x, x, model.target_mask(target)))
        x = layer.cross_attention_norm(x + layer.cross_attention(x, memory, source_mask))
        x = layer.feed_forward_norm(x + layer.feed_forward.outer(layer.feed_forward.inner(x).relu()))
    assert torch.equal(model(source, target), nn.functional.linear(x, model.embedding.tokens.weight))


def test_same_gradients_as_torch(ids: tuple[Tensor, Tensor]) -> None:
    model = unlike_fresh(tiny())
    reference = torch_transformer(model).train()
    real = ids[1] != PAD
    direction = torch.randn(int(real.sum()), TINY.vocab_size)

    (model(*ids)[real] * direction).sum().backward()
    found = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
    assert len(found) == len(list(model.parameters()))
    model.zero_grad()
    (torch_logits(model, reference, *ids)[real] * direction).sum().backward()

    expected = {name: parameter.grad for name, parameter in reference.named_parameters()}
    for name, gradient in torch_state(found).items():
        torch.testing.assert_close(
            gradient, expected[name], rtol=1e-4, atol=1e-5, msg=lambda text, name=name: f"{name}: {text}"
        )
    torch.testing.assert_close(
        found["embedding.tokens.weight"], model.embedding.tokens.weight.grad, rtol=1e-4, atol=1e-4
    )


def test_attention_as_the_paper_writes_it() -> None:
    """3.2.1 and 3.2.2 head by head, with d_k and d_v other than d_model / h."""
    attention = MultiHeadAttention(TINY.d_model, HeadShape(TINY.num_heads, d_k=5, d_v=3))
    x, memory = torch.randn(2, 4, TINY.d_model), torch.randn(2, 6, TINY.d_model)
    mask = torch.rand(2, 1, 4, 6) > 0.4
    mask[..., 0] = True
    queries, keys, values = attention.q_proj(x), attention.k_proj(memory), attention.v_proj(memory)
    heads = []
    for h in range(TINY.num_heads):
        q, k, v = queries[..., 5 * h : 5 * h + 5], keys[..., 5 * h : 5 * h + 5], values[..., 3 * h : 3 * h + 3]
        scores = torch.einsum("bqe,bke->bqk", q, k) / math.sqrt(5)
        exponentials = scores.exp() * mask[:, 0]
        heads.append((exponentials / exponentials.sum(-1, keepdim=True)) @ v)
    expected = attention.out_proj(torch.cat(heads, dim=-1))
    torch.testing.assert_close(attention(x, memory, mask), expected, rtol=0, atol=1e-6)
    with torch.no_grad():  # the fused kernel
        torch.testing.assert_close(attention(x, memory, mask), expected, rtol=0, atol=1e-6)


# --- What may depend on what ---------------------------------------------------------------------------------------


@torch.no_grad()
def test_no_logit_depends_on_later_target_tokens(ids: tuple[Tensor, Tensor]) -> None:
    model, (source, target) = tiny(), ids
    before = model(source[:1], target[:1])
    for changed in range(1, target.size(1)):
        other = target[:1].clone()
        other[0, changed] = 3 + (other[0, changed] - 2) % (TINY.vocab_size - 3)
        after = model(source[:1], other)
        assert torch.equal(after[:, :changed], before[:, :changed])
        assert (after[:, changed:] != before[:, changed:]).any(dim=-1).all(), "every later logit sees the change"


@torch.no_grad()
def test_padding_changes_no_real_logit(ids: tuple[Tensor, Tensor]) -> None:
    model, (source, target) = tiny(), ids
    batched = model(source, target)
    for row in range(len(source)):
        alone_source, alone_target = source[row][source[row] != PAD][None], target[row][target[row] != PAD][None]
        alone = model(alone_source, alone_target)[0]
        torch.testing.assert_close(batched[row, : len(alone)], alone, rtol=0, atol=1e-5)
        padded = model(
            nn.functional.pad(alone_source, (0, 20), value=PAD), nn.functional.pad(alone_target, (0, 11), value=PAD)
        )[0]
        torch.testing.assert_close(padded[: len(alone)], alone, rtol=0, atol=1e-5)


@torch.no_grad()
def test_every_logit_depends_on_every_source_token(ids: tuple[Tensor, Tensor]) -> None:
    model, (source, target) = tiny(), ids
    before = model(source[:1], target[:1])
    for changed in range(source.size(1)):
        other = source[:1].clone()
        other[0, changed] = 3 + (other[0, changed] - 2) % (TINY.vocab_size - 3)
        assert (model(other, target[:1]) != before).any(dim=-1).all()


def test_masks_say_who_may_attend(ids: tuple[Tensor, Tensor]) -> None:
    model, (source, target) = tiny(), ids
    assert model.source_mask(source).shape == (3, 1, 1, 9)
    assert model.source_mask(source)[:, 0, 0].sum(-1).tolist() == [9, 6, 2]
    mask = model.target_mask(target)
    assert mask.shape == (3, 1, 7, 7)
    assert mask[0, 0].int().tolist() == torch.ones(7, 7).tril().int().tolist()
    assert mask[1, 0].sum(-1).tolist() == [1, 2, 3, 3, 3, 3, 3]


@torch.no_grad()
def test_encode_decode_and_project_make_forward(ids: tuple[Tensor, Tensor]) -> None:
    model, (source, target) = tiny(), ids
    memory = model.encode(source)
    states = model.decode(target, memory, model.source_mask(source))
    assert memory.shape == (3, 9, TINY.d_model)
    assert torch.equal(model.project(states), model(source, target))


@pytest.mark.parametrize(
    "changes",
    [{"d_k": 5, "d_v": 7}, {"num_heads": 3, "d_k": 1, "d_v": 40}, {"num_encoder_layers": 1, "num_decoder_layers": 4}],
)
def test_shapes_are_free(changes: dict[str, int], ids: tuple[Tensor, Tensor]) -> None:
    model = tiny(**changes)
    heads = changes.get("num_heads", TINY.num_heads)
    if "d_k" in changes:
        attention = model.decoder.layers[0].cross_attention
        assert attention.q_proj.weight.shape == attention.k_proj.weight.shape == (heads * changes["d_k"], TINY.d_model)
        assert attention.v_proj.weight.shape == (heads * changes["d_v"], TINY.d_model)
        assert attention.out_proj.weight.shape == (TINY.d_model, heads * changes["d_v"])
    logits = model(*ids)
    assert logits.shape == (3, 7, TINY.vocab_size)
    assert logits.isfinite().all()


# --- 3.4 Embeddings, 3.5 Positional encoding -----------------------------------------------------------------------


def test_one_matrix_embeds_and_predicts() -> None:
    model = tiny(vocab_size=61)
    assert [name for name, parameter in model.named_parameters() if 61 in parameter.shape] == [
        "embedding.tokens.weight"
    ]
    assert model.state_dict().keys() == dict(model.named_parameters()).keys(), "nothing derived is saved"
    states = torch.randn(2, TINY.d_model)
    torch.testing.assert_close(model.project(states), states @ model.embedding.tokens.weight.T)


@pytest.mark.parametrize(
    ("tied", "names"),
    [
        ("all", {"embedding.tokens.weight"}),
        ("target", {"embedding.tokens.weight", "target_embedding.tokens.weight"}),
        ("inputs", {"embedding.tokens.weight", "output_projection.weight"}),
        ("none", {"embedding.tokens.weight", "target_embedding.tokens.weight", "output_projection.weight"}),
    ],
)
def test_tied_matrices_are_one(tied: str, names: set[str], ids: tuple[Tensor, Tensor]) -> None:
    model = tiny(vocab_size=61, tied=tied)
    assert {name for name, parameter in model.named_parameters() if 61 in parameter.shape} == names
    assert model.state_dict().keys() == dict(model.named_parameters()).keys()
    output = "output_projection.weight" if tied in ("inputs", "none") else sorted(names)[-1]
    states = torch.randn(2, TINY.d_model)
    torch.testing.assert_close(model.project(states), states @ model.get_parameter(output).T)
    fed = "target_embedding.tokens.weight" if tied in ("target", "none") else "embedding.tokens.weight"
    assert model.fed_embedding.tokens.weight is model.get_parameter(fed)
    model(*(each.clamp(max=60) for each in ids)).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@torch.no_grad()
def test_a_start_that_is_padding_is_attended_to(ids: tuple[Tensor, Tensor]) -> None:
    """As with a row of the vocabulary of its own: only the id differs."""
    source, target = ids
    model, other = tiny(bos_id=PAD), tiny()
    other.embedding.tokens.weight[BOS] = other.embedding.tokens.weight[PAD]
    started = target.clone()
    started[:, 0] = PAD
    real = target != PAD
    found, expected = model(source, started)[real], other(source, target)[real]
    same = torch.arange(TINY.vocab_size) != BOS
    assert torch.equal(found[:, same], expected[:, same])
    assert model.target_mask(started)[1, 0].sum(-1).tolist() == [1, 2, 3, 3, 3, 3, 3]


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_embedding_is_scaled_token_plus_position(positions: str) -> None:
    model = tiny(positions=positions)
    token_ids = torch.tensor([[5, 9, 5]])
    table = model.embedding.positions(0, 3)
    expected = model.embedding.tokens.weight[token_ids[0]] * math.sqrt(TINY.d_model) + table
    torch.testing.assert_close(model.embedding(token_ids)[0], expected)
    torch.testing.assert_close(model.embedding(token_ids, position=2)[0, 1], expected[1] - table[1] + table[2])


def test_sinusoids_by_their_formula() -> None:
    d_model = 12
    table = sinusoidal_encoding(50, d_model)
    for position in (0, 1, 7, 49):
        for i in range(d_model // 2):
            angle = position / 10000 ** (2 * i / d_model)
            assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-7)
            assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-7)


@pytest.mark.parametrize("order", ["interleaved", "halves"])
@pytest.mark.parametrize("exponent", ["i/n", "i/(n-1)"])
@pytest.mark.parametrize("offset", [0, 2])
def test_sinusoids_of_other_projects_by_their_formula(order: Any, exponent: Any, offset: int) -> None:
    d_model, n = 12, 6
    config = replace(TINY, d_model=d_model, position_order=order, position_exponent=exponent, position_offset=offset)
    table = SinusoidalPositions(config)(0, 50)
    assert table.shape == (50, d_model)
    for position in (0, 1, 7, 49):
        for i in range(n):
            angle = (position + offset) / 10000 ** (i / (n if exponent == "i/n" else n - 1))
            sine, cosine = (2 * i, 2 * i + 1) if order == "interleaved" else (i, n + i)
            assert table[position, sine].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[position, cosine].item() == pytest.approx(math.cos(angle), abs=1e-6)


@pytest.mark.parametrize("k", [1, 10, 300])
def test_a_shift_is_a_rotation(k: int) -> None:
    """3.5: PE(pos + k) is a linear function of PE(pos), the same for every pos."""
    d_model = 16
    table = sinusoidal_encoding(400, d_model).double().unflatten(1, (d_model // 2, 2))  # [pos, pair, (sin, cos)]
    angle = k * 10000.0 ** (-2 * torch.arange(d_model // 2).double() / d_model)
    rotation = torch.stack((angle.cos(), angle.sin(), -angle.sin(), angle.cos()), dim=-1).view(-1, 2, 2)
    rotated = torch.einsum("nij,pnj->pni", rotation, table[:-k])
    torch.testing.assert_close(rotated, table[k:], rtol=0, atol=1e-6)


def test_sinusoids_have_no_last_position() -> None:
    positions = SinusoidalPositions(TINY)
    beyond = FIRST_POSITIONS + 100
    expected = sinusoidal_encoding(beyond, TINY.d_model)
    torch.testing.assert_close(positions(0, beyond), expected)
    torch.testing.assert_close(positions(beyond - 1, beyond), expected[-1:])
    torch.testing.assert_close(positions(3, 5), expected[3:5])


@torch.no_grad()
def test_long_input_runs() -> None:
    model = tiny()
    source, target = torch.randint(3, 60, (1, FIRST_POSITIONS + 5)), torch.randint(3, 60, (1, FIRST_POSITIONS + 1))
    assert model(source, target).isfinite().all()


def test_growing_the_table_in_inference_mode_leaves_training_possible() -> None:
    model = tiny()
    with torch.inference_mode():
        model.encode(torch.full((1, FIRST_POSITIONS + 1), 5))
    model.train()(torch.full((1, 4), 5), torch.full((1, 4), 5)).sum().backward()
    assert model.embedding.tokens.weight.grad is not None


def test_learned_positions_are_parameters_with_an_end() -> None:
    model = tiny(positions="learned", max_positions=8)
    assert isinstance(model.embedding.positions, LearnedPositions)
    assert model.state_dict()["embedding.positions.table.weight"].shape == (8, TINY.d_model)
    model(torch.full((1, 8), 5), torch.full((1, 8), 5)).sum().backward()
    with pytest.raises(
        ValueError, match=r"^9 positions are more than the 8 learned ones \(max_positions\): shorten the input$"
    ):
        model.encode(torch.full((1, 9), 5))


# --- Initialisation --------------------------------------------------------------------------------------------------


def test_initial_values() -> None:
    """Xavier bounds, residual branches scaled down by depth; zero biases; unit-variance embeddings."""
    model = tiny(num_encoder_layers=2, num_decoder_layers=3, vocab_size=2_000)
    gains = {"encoder": 0.87 * (2**4 * 3) ** (-1 / 16), "decoder": (12 * 3) ** (-1 / 4)}
    for name, module in model.named_modules():
        if not isinstance(module, nn.Linear):
            continue
        gain = gains[name.split(".")[0]] if name.endswith(("v_proj", "out_proj", "inner", "outer")) else 1.0
        bound = gain * math.sqrt(6 / (module.in_features + module.out_features))
        largest = module.weight.abs().max().item()
        assert 0.95 * bound < largest <= bound * (1 + 1e-6), name
        # of the uniform distribution
        assert module.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.1), name
        assert not module.bias.any(), name
    scaled = model.embedding.tokens.weight * math.sqrt(TINY.d_model)
    assert scaled.std().item() == pytest.approx(1, abs=0.02)


def test_a_seed_decides_the_model() -> None:
    first, same, other = tiny(1).state_dict(), tiny(1).state_dict(), tiny(2).state_dict()
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert not torch.equal(first["embedding.tokens.weight"], other["embedding.tokens.weight"])


# --- 5.4 Dropout -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_dropout_keeps_its_share_and_the_expectation(p: float) -> None:
    torch.manual_seed(0)
    x = torch.ones(1000, 1003)  # not a multiple of the four draws that share a number
    y = Dropout(p).train()(x)
    deviations = (p * (1 - p) / x.numel()) ** 0.5
    assert (y == 0).double().mean().item() == pytest.approx(p, abs=5 * deviations)
    assert torch.equal(y[y != 0], torch.full_like(y[y != 0], 1 / (1 - p)))
    assert y.double().mean().item() == pytest.approx(1, abs=5 * deviations / (1 - p))


def test_dropout_draws_are_independent() -> None:
    """Neighbours that share a random number are dropped together as often as independent ones."""
    torch.manual_seed(0)
    dropped = (Dropout(0.3).train()(torch.ones(400_000)) == 0).double()
    for shift in (1, 2, 3, 4):
        together = (dropped[shift:] * dropped[:-shift]).mean().item()
        assert together == pytest.approx(0.09, abs=5 * (0.09 * 0.91 / 400_000) ** 0.5)


@pytest.mark.parametrize("p", [0.0, 0.999999])
def test_dropout_at_its_ends(p: float) -> None:
    y = Dropout(p).train()(torch.ones(10_000))
    assert y.mean() == 1 if p == 0 else (y != 0).float().mean() < 0.01


def test_dropout_passes_gradients_where_it_kept() -> None:
    x = torch.randn(64, requires_grad=True)
    y = Dropout(0.5).train()(x)
    y.sum().backward()
    assert torch.equal(x.grad, torch.where(y != 0, 2.0, 0.0))


def test_dropout_is_off_in_evaluation(ids: tuple[Tensor, Tensor]) -> None:
    model = tiny(dropout=0.5)
    assert torch.equal(model(*ids), model(*ids))
    model.train()
    assert not torch.equal(model(*ids), model(*ids))
    x = torch.randn(3, 4)
    assert Dropout(0.5).eval()(x) is x


def test_dropout_sits_where_5_4_puts_it(ids: tuple[Tensor, Tensor]) -> None:
    """On every sub-layer's output before the addition, and on embedding plus position; nowhere else."""
    model = tiny(dropout=0.5).train()
    inputs: list[Tensor] = []
    for module in model.modules():
        if isinstance(module, Dropout):
            module.register_forward_pre_hook(lambda _module, args: inputs.append(args[0].detach()))
    outputs: dict[str, Tensor] = {}
    for name, module in model.named_modules():
        if name.endswith(("self_attention", "cross_attention", "feed_forward")):
            module.register_forward_hook(
                lambda _module, _args, output, name=name: outputs.setdefault(name, output.detach())
            )
    model(*ids)
    assert len(outputs) == 2 * 2 + 3 * 2
    embedded = [x for x in inputs if not any(x is output or torch.equal(x, output) for output in outputs.values())]
    assert len(inputs) == len(outputs) + 2
    assert len(embedded) == 2
    for x, token_ids in zip(embedded, ids, strict=True):
        expected = model.embedding.tokens(token_ids) * math.sqrt(TINY.d_model) + model.embedding.positions(
            0, token_ids.size(1)
        )
        torch.testing.assert_close(x, expected)


def test_post_norm(ids: tuple[Tensor, Tensor]) -> None:
    """3.1: every sub-layer ends in LayerNorm(x + Sublayer(x)), so the output of a fresh stack is normalised."""
    memory = tiny().encode(ids[0])
    torch.testing.assert_close(memory.mean(-1), torch.zeros(3, 9), rtol=0, atol=1e-5)
    torch.testing.assert_close(memory.var(-1, unbiased=False), torch.ones(3, 9), rtol=0, atol=1e-3)


# --- Without causal mask ---------------------------------------------------------------------------------------------


@torch.no_grad()
def test_without_causal_mask_every_position_sees_all_others_but_padding(ids: tuple[Tensor, Tensor]) -> None:
    source, target = ids
    model, length = tiny(mask_id=3), target.size(1)
    assert model.target_mask(target).expand(-1, -1, length, -1)[1, 0].tolist() == [[True] * 3 + [False] * 4] * length
    logits, changed = model(source, target), target.clone()
    changed[:, 1] = (changed[:, 1] + 1) % TINY.vocab_size
    changed[1, 3:] = PAD
    others = model(source, changed)
    for row, count in enumerate((7, 3, 5)):
        differing = (logits[row, :count] != others[row, :count]).any(-1)
        assert differing.all()
        torch.testing.assert_close(model(source[row : row + 1], target[row : row + 1, :count])[0], logits[row, :count])


@torch.no_grad()
def test_the_length_is_predicted_from_the_mean_of_the_memory_without_padding(ids: tuple[Tensor, Tensor]) -> None:
    model = tiny(mask_id=3)
    assert tiny().length_projection is None
    assert model.length_projection is not None
    logits = model.length_logits(model.encode(ids[0]), model.source_mask(ids[0]))
    for row, length in enumerate((9, 6, 2)):
        memory = model.encode(ids[0][row : row + 1, :length])
        torch.testing.assert_close(logits[row], model.length_projection(memory[0].mean(0)))


def test_a_mask_token_adds_the_length_projection_and_nothing_else() -> None:
    with_mask, without = (dict(tiny(**changes).named_parameters()) for changes in ({"mask_id": 3}, {}))
    assert with_mask.keys() - without.keys() == {"length_projection.weight", "length_projection.bias"}
