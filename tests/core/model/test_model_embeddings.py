"""Embeddings and positional encoding (3.4, 3.5)."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from core.model import FIRST_POSITIONS, LearnedPositions, SinusoidalPositions, sinusoidal_encoding
from tests.core.tiny_models import BOS, PAD, TINY, tiny


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


@pytest.mark.parametrize("order", ["interleaved", "halves"])
@pytest.mark.parametrize("exponent", ["i/n", "i/(n-1)"])
@pytest.mark.parametrize("offset", [0, 2])
def test_sinusoids_by_their_formula(order: Any, exponent: Any, offset: int) -> None:
    """3.5, and what other projects have."""
    d_model, n = 12, 6
    config = replace(TINY, d_model=d_model, position_order=order, position_exponent=exponent, position_offset=offset)
    table = SinusoidalPositions(config)(0, 50)
    assert table.shape == (50, d_model)
    for position in (0, 1, 7, 49):
        for i in range(n):
            angle = (position + offset) / 10000 ** (i / (n if exponent == "i/n" else n - 1))
            sine, cosine = (2 * i, 2 * i + 1) if order == "interleaved" else (i, n + i)
            assert table[position, sine].item() == pytest.approx(math.sin(angle), abs=1e-7)
            assert table[position, cosine].item() == pytest.approx(math.cos(angle), abs=1e-7)


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
