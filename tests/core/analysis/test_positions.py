import math

import torch

from core.analysis.positions import position_similarity, wavelengths
from core.model import sinusoidal_encoding


def test_the_dot_product_depends_on_the_distance_alone() -> None:
    similarity = position_similarity(sinusoidal_encoding(20, 32))
    for distance in range(20):
        diagonal = similarity.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal), rtol=0, atol=1e-5)
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
