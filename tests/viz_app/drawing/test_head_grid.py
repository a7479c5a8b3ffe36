import base64
import io
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from core.capture import AttentionMap
from core.drawing.drawing_data import MAX_CELL
from viz_app.drawing.head_grid import SHADES, contrast, grid_picture
from viz_app.drawing.theme import DARK, LIGHT


def tile(picture: str) -> np.ndarray:
    return np.array(Image.open(io.BytesIO(base64.b64decode(picture.split(",")[1]))))


def one_head(weights: torch.Tensor) -> AttentionMap:
    queries, keys = weights.shape
    return AttentionMap("cross", 0, weights[None], ("q",) * queries, ("k",) * keys, ("p",) * queries)


def test_shades_are_the_weights_from_zero_to_one() -> None:
    weights = torch.tensor([[1.0, 0.0], [0.25, 0.75]])
    cells = tile(grid_picture([one_head(weights)], LIGHT))
    assert cells.shape == (96, 96)  # a lone map fills its picture
    np.testing.assert_array_equal(cells[::48, ::48], (weights.numpy() * (SHADES - 1)).round())


def test_the_scale_is_fixed_whatever_the_weights_are() -> None:
    faint = tile(grid_picture([one_head(torch.full((10, 10), 0.1))], LIGHT))
    assert set(np.unique(faint)) == {round(0.1 * (SHADES - 1))}


def test_a_long_sentence_keeps_its_peaks() -> None:
    cells = tile(grid_picture([one_head(torch.eye(200))], LIGHT))
    np.testing.assert_array_equal(cells[::2, ::2].diagonal(), np.full(MAX_CELL, SHADES - 1))


@pytest.mark.parametrize("length", [1, 60, 200])
def test_six_layers_of_eight_heads_stay_under_the_budget(make_map: Any, length: int) -> None:
    maps = [make_map(length, length, num_heads=8, layer=layer) for layer in range(6)]
    assert len(grid_picture(maps, DARK)) < 150_000


def test_no_maps_and_maps_of_different_sentences_are_refused(make_map: Any) -> None:
    with pytest.raises(ValueError, match="no attention maps to draw"):
        grid_picture([], LIGHT)
    with pytest.raises(ValueError, match=r"different sizes \(5 x 4, 6 x 4\)"):
        grid_picture([make_map(), make_map(6)], LIGHT)


def test_contrasts_are_those_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#ffffff", "#777777") == pytest.approx(4.48, abs=0.005)  # the grey that just fails 4.5
    assert contrast("#123456", "#123456") == 1
