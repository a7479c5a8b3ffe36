"""Restricted self-attention equals full attention with a band mask, at a cost linear in r n."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from core.analysis.layers.layer_cost import LiveMemory
from core.capture import capture_attention
from core.formats.checkpoint import load_checkpoint, save_checkpoint
from core.inference.cpu_inference import PackedTransformer
from core.inference.cpu_products import has_packed
from core.model import MultiHeadAttention, Transformer
from core.model.config import HeadShape
from core.model.restricted_attention import Neighbourhood, causal_neighbourhood, centred_neighbourhood
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from tests.core.tiny_models import TINY, tiny
from tests.margins import assert_equal_to_rounding

SOURCE = torch.tensor([[5, 9, 23, 8, 30, 41, 17, 2], [7, 31, 40, 11, 2, 0, 0, 0], [2, 0, 0, 0, 0, 0, 0, 0]])
TARGET = torch.tensor([[1, 9, 23, 8, 30], [1, 31, 40, 0, 0], [1, 0, 0, 0, 0]])


def seen_by(query: int, length: int, size: int, causal: bool) -> list[int]:
    """Oracle: visible positions by distance to the query, earlier ones first."""
    allowed = range(query + 1) if causal else range(length)
    return sorted(sorted(allowed, key=lambda key: (abs(key - query), key))[:size])


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 100])
def test_a_neighbourhood_is_the_r_nearest_positions_that_may_be_seen(size: int, causal: bool) -> None:
    lengths, longest = (7, 4, 1), 7
    real = torch.arange(longest) < torch.tensor(lengths)[:, None]
    mask = (causal_neighbourhood if causal else centred_neighbourhood)(real, size).as_mask(longest)
    assert mask.shape == (3, 1, longest, longest)
    for row, length in enumerate(lengths):
        for query in range(length):
            assert mask[row, 0, query].nonzero().flatten().tolist() == seen_by(query, length, size, causal), (
                length,
                query,
            )
        assert mask[row].any(-1).all(), "padding sees something too, or its softmax would be NaN"


@settings(max_examples=40)
@given(longest=st.integers(1, 23), size=st.integers(1, 26), causal=st.booleans(), seed=st.integers(0, 2**16))
def test_the_same_as_full_attention_with_a_band_mask(longest: int, size: int, causal: bool, seed: int) -> None:
    """In double precision, outputs and gradients, for all r, n and padding."""
    generator = torch.Generator().manual_seed(seed)
    attention = MultiHeadAttention(TINY.d_model, HeadShape(2, d_k=3, d_v=5)).double()
    lengths = [longest, *torch.randint(1, longest + 1, (2,), generator=generator).tolist()]
    x = torch.randn(3, longest, TINY.d_model, generator=generator, dtype=torch.float64)
    real = torch.arange(longest) < torch.tensor(lengths)[:, None]
    band = torch.zeros(3, 1, longest, longest, dtype=torch.bool)
    for row, length in enumerate(lengths):
        for query in range(longest):
            band[row, 0, query, seen_by(min(query, length - 1), length, size, causal)] = True
    neighbourhood = (causal_neighbourhood if causal else centred_neighbourhood)(real, size)
    direction = torch.randn(x.shape, generator=generator, dtype=torch.float64)
    found: list[list[Tensor]] = []
    for mask in (band, neighbourhood):
        inputs = x.clone().requires_grad_()
        outputs = attention(inputs, inputs, mask)
        gradients = torch.autograd.grad((outputs * direction)[real].sum(), (inputs, *attention.parameters()))
        found.append([outputs[real], *gradients])
    for restricted, full in zip(found[1], found[0], strict=True):
        torch.testing.assert_close(restricted, full, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("size", [8, 50])
def test_a_neighbourhood_as_long_as_the_sentence_is_full_attention(size: int) -> None:
    full, restricted = tiny(), tiny(neighbourhood=size)
    real = TARGET != 0
    assert_equal_to_rounding(restricted(SOURCE, TARGET)[real], full(SOURCE, TARGET)[real], full)


@torch.no_grad()
def test_padding_changes_nothing_and_nothing_is_far_sighted() -> None:
    model = tiny(neighbourhood=3, num_encoder_layers=1)
    memory = model.encode(SOURCE)
    for row in range(3):
        alone = SOURCE[row][SOURCE[row] != 0]
        assert_equal_to_rounding(memory[row, : len(alone)], model.encode(alone[None])[0], model)
    changed = SOURCE[:1].clone()
    changed[0, 4] = 50
    differs = (model.encode(changed) != model.encode(SOURCE[:1])).any(-1)[0].tolist()
    assert differs == [position in (3, 4, 5) for position in range(8)]  # one layer reaches one position to either side


@torch.no_grad()
def test_the_decoder_is_causal_and_sees_so_far_back_and_no_farther() -> None:
    model = tiny(neighbourhood=2, num_decoder_layers=2)
    target = torch.tensor([[1, 9, 23, 8, 30, 41]])
    before, other = model(SOURCE[:1], target), target.clone()
    other[0, 2] = 50
    differs = (model(SOURCE[:1], other) != before).any(-1)[0].tolist()
    assert differs == [False, False, True, True, True, False]  # each of two layers carries it one position on


def test_captured_weights_are_zero_outside_the_band_change_nothing_and_can_be_replaced() -> None:
    model = tiny(neighbourhood=3)
    plain = model(SOURCE, TARGET)
    with torch.no_grad(), capture_attention(model) as maps:
        looked_at = model(SOURCE, TARGET)
    real = TARGET != 0
    assert_equal_to_rounding(looked_at[real], plain[real], model)
    encoder, decoder = maps["encoder.layers.0.self_attention"], maps["decoder.layers.1.self_attention"]
    assert encoder.shape == (3, 4, 8, 8)
    assert decoder.shape == (3, 4, 5, 5)
    assert (encoder[0] > 0).sum(-1).eq(3).all()
    assert encoder[0, 0, 4].nonzero().flatten().tolist() == [3, 4, 5]
    assert decoder[0, 0, 4].nonzero().flatten().tolist() == [2, 3, 4]
    torch.testing.assert_close(encoder.sum(-1), torch.ones(3, 4, 8))
    with torch.no_grad(), capture_attention(model, replace=lambda path, weights: weights * ("self" not in path)):
        without = model(SOURCE, TARGET)
    assert not torch.allclose(without[0], plain[0])


# --- Memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_memory_grows_with_r_n(side: str, train: bool) -> None:
    """The largest tensor of a forward and backward pass. Full attention in training has n x n for every head."""

    def largest(length: int, size: int | None) -> int:
        model = tiny(neighbourhood=size, num_encoder_layers=1, num_decoder_layers=1)
        long, short = torch.full((1, length), 5), torch.full((1, 4), 5)
        with LiveMemory() as memory, torch.set_grad_enabled(train):
            out = model.encode(long) if side == "encoder" else model(short, long)
            if train:
                out.sum().backward()
        return memory.largest

    n, num_heads, number = 1024, TINY.num_heads, 4  # bytes a number
    # sinusoids in double precision, for up to twice the positions; what else there is takes less
    of_layers = n * number * 4 * TINY.d_model
    for size in (16, 64):
        assert largest(n, size) <= max(of_layers, num_heads * n * (2 * size - 1) * number)
    assert num_heads * (n // 4) ** 2 * number > of_layers
    if train:
        assert largest(n // 4, None) >= num_heads * (n // 4) ** 2 * number


# --- In use -----------------------------------------------------------------------------------------------------------


def test_gradients_in_bfloat16_point_where_those_in_float32_do() -> None:
    """Those of all weights: the explicit path under autocast, as in training on a CPU."""
    found: list[tuple[Tensor, ...]] = []
    for enabled in (False, True):
        model = tiny(neighbourhood=3)
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            logits = model(SOURCE[:2, :5], TARGET[:2])
        loss = nn.functional.cross_entropy(logits.float().flatten(0, 1), SOURCE[:2, :5].flatten())
        weights = [parameter for parameter in model.parameters() if parameter.dim() > 1]
        found.append(torch.autograd.grad(loss, weights))
    for one, other in zip(*found, strict=True):
        assert nn.functional.cosine_similarity(one.flatten(), other.flatten(), dim=0) > 0.99


def test_it_learns_to_copy_in_bfloat16() -> None:
    """The explicit path under autocast, as in training on a CPU, reduces the initial loss."""
    torch.manual_seed(0)
    model = Transformer(
        replace(TINY, vocab_size=6, neighbourhood=3, num_encoder_layers=1, num_decoder_layers=1, tied="none")
    ).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3, fused=True)
    generator, losses = torch.Generator().manual_seed(0), []
    for _ in range(60):
        source = torch.randint(3, 6, (16, 4), generator=generator)
        target = torch.cat((torch.full((16, 1), 1), source), dim=1)
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(source, target[:, :-1])
        loss = nn.functional.cross_entropy(logits.float().flatten(0, 1), source.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] > 0.9 * math.log(3)
    assert sum(losses[-10:]) / 10 < 0.35 * math.log(3)
    model.eval()
    with torch.no_grad():
        assert (model(source, target[:, :-1]).argmax(-1) == source).float().mean() > 0.75  # 0.91 with the worst of 24


def test_a_checkpoint_keeps_it_and_the_translation_is_its_replay(
    tokenizer: SentencePieceTokenizer, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.decoding.limits.MAX_EXTRA_TOKENS", 8)  # an untrained model does not end its sentences
    model = tiny(neighbourhood=3, vocab_size=tokenizer.vocab_size)
    save_checkpoint(tmp_path / "restricted.safetensors", model, tokenizer)
    loaded = load_checkpoint(tmp_path / "restricted.safetensors")
    assert loaded.config == model.config
    translator = Translator(loaded.model, tokenizer)
    best = translator.translate("A dog runs.", beam_size=3).hypotheses[0]
    explanation = translator.explain("A dog runs.", best.token_ids)
    assert explanation.log_probs[: len(best.token_ids)] == pytest.approx(best.token_log_probs, abs=1e-4)
    assert (explanation.maps["decoder_self"][0].weights > 0).sum(-1).max() == 3


@torch.no_grad()
@pytest.mark.skipif(not has_packed(), reason="no oneDNN in this PyTorch")
def test_packed_it_computes_the_same() -> None:
    model = tiny(neighbourhood=3)
    torch.testing.assert_close(PackedTransformer(model)(SOURCE, TARGET), model(SOURCE, TARGET), atol=1e-5, rtol=1e-5)


def test_a_range_is_so_many_numbers_and_not_a_mask() -> None:
    neighbourhood = centred_neighbourhood(torch.ones(2, 1000, dtype=torch.bool), 9)
    assert isinstance(neighbourhood, Neighbourhood)
    assert neighbourhood.first.numel() == neighbourhood.stop.numel() == 2 * 1000
