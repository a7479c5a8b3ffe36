import math
from dataclasses import replace

import pytest
import torch

from core.analysis.positions import (
    by_position,
    distance_columns,
    model_positions,
    position_similarity,
    rotated,
    rotation_columns,
    rotation_error,
    similarity_by_distance,
    sinusoid_columns,
    wavelengths,
)
from core.model import Transformer, sinusoidal_encoding
from core.model.preset_configs import PRESETS
from tests.margins import assert_equal_to_rounding


def test_the_dot_product_depends_on_the_distance_alone() -> None:
    similarity = position_similarity(sinusoidal_encoding(20, 32))
    for distance in range(20):
        diagonal = similarity.diagonal(distance)
        assert_equal_to_rounding(diagonal, diagonal[:1].expand_as(diagonal), 1)
    torch.testing.assert_close(similarity.diagonal(), torch.full((20,), 16.0))


def test_the_cosine_is_the_dot_product_over_half_the_width() -> None:
    encoding = sinusoidal_encoding(20, 32)
    torch.testing.assert_close(position_similarity(encoding, "cosine"), position_similarity(encoding, "dot") / 16)


def test_each_pair_of_dimensions_is_a_wave_of_its_wavelength() -> None:
    periods = wavelengths(64)
    assert math.isclose(periods[0].item(), 2 * math.pi)
    encoding = sinusoidal_encoding(800, 64)
    sines = torch.sin(2 * math.pi * torch.arange(800, dtype=torch.float64)[:, None] / periods)
    torch.testing.assert_close(encoding[:, ::2], sines.float(), rtol=0, atol=1e-5)


def test_the_distance_is_that_of_the_two_points() -> None:
    encoding = torch.tensor([[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]])
    assert position_similarity(encoding, "distance").tolist() == [[0, 5, 3], [5, 0, 4], [3, 4, 0]]


@pytest.mark.parametrize("offset", [0, 1, 100])
def test_turning_by_an_offset_gives_the_encoding_that_far_on(offset: int) -> None:
    encoding = sinusoidal_encoding(400, 64)
    torch.testing.assert_close(rotated(encoding[: 400 - offset], offset), encoding[offset:], atol=1e-5, rtol=0)
    torch.testing.assert_close(rotated(rotated(encoding, offset), -offset), encoding, atol=1e-5, rtol=0)
    assert rotation_error(400 - offset, 64, offset) < 1e-5


def test_a_quarter_turn_by_hand() -> None:
    """Two dimensions rotate by one radian per position: from sin 0, cos 0 to sin 1, cos 1."""
    torch.testing.assert_close(rotated(torch.tensor([[0.0, 1.0]]), 1), torch.tensor([[math.sin(1), math.cos(1)]]))


def test_encodings_of_a_model(tiny_model: Transformer) -> None:
    torch.testing.assert_close(model_positions(tiny_model, 30), sinusoidal_encoding(30, tiny_model.config.d_model))
    learned = Transformer(replace(PRESETS["tiny"], vocab_size=50, positions="learned", max_positions=20))
    assert torch.equal(model_positions(learned, 30), learned.embedding.positions.table.weight.detach())


def test_similarity_by_distance_is_sharp_for_sinusoids_alone() -> None:
    least, mean, most = similarity_by_distance(sinusoidal_encoding(12, 16))
    torch.testing.assert_close(least, most, atol=1e-5, rtol=0)
    torch.testing.assert_close(mean, position_similarity(sinusoidal_encoding(12, 16), "cosine")[0], atol=1e-5, rtol=0)
    found = similarity_by_distance(torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]))
    assert_equal_to_rounding(torch.stack(found), [[1, -1, 0], [1, -0.5, 0], [1, 0, 0]], 1)


def test_tables_have_the_numbers_of_the_encoding() -> None:
    encoding = sinusoidal_encoding(9, 8)
    assert by_position(encoding)["5"] == encoding[:, 5].tolist()
    waves = sinusoid_columns([0, 5], 9, 8)
    assert waves["value"] == [*encoding[:, 0].tolist(), *encoding[:, 5].tolist()]
    turned = rotation_columns(3, 5, 8)
    assert (turned["position_3"], turned["position_8"]) == (encoding[3].tolist(), encoding[8].tolist())
    assert turned["position_3_turned"] == pytest.approx(turned["position_8"], abs=1e-6)
    assert turned["turned_by_degrees"][:2] == pytest.approx([math.degrees(5)] * 2)
    cosines = distance_columns(torch.randn(5, 4, generator=torch.Generator().manual_seed(0)))
    assert [column[0] for column in cosines.values()] == pytest.approx([0, 1, 1, 1, 1])
