"""The architecture against PyTorch's Transformer and the paper's formula of attention."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from core.model import PAD_PIXEL, MultiHeadAttention, Transformer, sinusoidal_encoding
from core.model.config import HeadShape
from tests.core.tiny_models import PAD, TINY, tiny, unlike_fresh
from tests.margins import assert_equal_to_rounding, depth


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


def assert_same_numbers(model: Transformer, source: Tensor, target: Tensor) -> None:
    reference = torch_transformer(model).eval()
    with torch.no_grad():
        expected, found = torch_logits(model, reference, source, target), model(source, target)
    real = target != PAD
    assert_equal_to_rounding(found[real], expected[real], model)


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
    assert_same_numbers(model, *ids)


@pytest.mark.parametrize("changes", [{}, {"embedding_norm": True, "norm": "pre"}])
def test_same_numbers_as_torch_for_images(changes: dict[str, Any], ids: tuple[Tensor, Tensor], patches: Tensor) -> None:
    model = unlike_fresh(tiny(patch_size=4, **changes))
    assert_same_numbers(model, patches, ids[1])


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
    assert_same_numbers(model, *ids)


@pytest.mark.parametrize("part", ["attention", "feed_forward"])
def test_no_bias_is_a_bias_of_zero(part: str, ids: tuple[Tensor, Tensor]) -> None:
    without = unlike_fresh(tiny(**{f"{part}_bias": False}))
    model = tiny()
    missing = model.load_state_dict(without.state_dict(), strict=False).missing_keys
    assert missing == [
        name for name in model.state_dict() if part in name and name.endswith("bias") and "norm" not in name
    ]
    assert_equal_to_rounding(without(*ids), model(*ids), model)


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
    both_ways = 2 * depth(model)
    for name, gradient in torch_state(found).items():
        assert_equal_to_rounding(gradient, expected[name], both_ways)
    assert_equal_to_rounding(found["embedding.tokens.weight"], model.embedding.tokens.weight.grad, both_ways)


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
    assert_equal_to_rounding(attention(x, memory, mask), expected, 4)
    with torch.no_grad():  # the fused kernel
        assert_equal_to_rounding(attention(x, memory, mask), expected, 4)
