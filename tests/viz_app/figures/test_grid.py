import base64
import io
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from core.capture import AttentionMap
from viz_app.figures.grid import CLEAR, MAX_CELL, SHADES, head_grid
from viz_app.figures.theme import DARK, LIGHT


def tile(figure: Any) -> np.ndarray:
    return np.array(Image.open(io.BytesIO(base64.b64decode(figure.layout.images[0].source.split(",")[1]))))


def one_head(weights: torch.Tensor) -> AttentionMap:
    queries, keys = weights.shape
    return AttentionMap("cross", 0, weights[None], ("q",) * queries, ("k",) * keys, ("p",) * queries)


def test_every_head_of_every_layer_has_its_marker(make_map: Any) -> None:
    maps = [make_map(num_heads=heads, layer=layer) for layer, heads in enumerate((2, 8, 1))]
    markers = head_grid(maps, LIGHT).data[0]
    assert [tuple(pair) for pair in markers.customdata] == [(layer, head) for layer, heads in enumerate((2, 8, 1)) for head in range(heads)]
    assert list(zip(markers.y, markers.x, strict=True)) == [tuple(pair) for pair in markers.customdata]
    assert markers.text[2] == "L2 H1"


def test_the_first_layer_is_on_top_and_some_layers_may_be_shown_alone(make_map: Any) -> None:
    figure = head_grid([make_map(layer=layer) for layer in (3, 5)], LIGHT, selected=[(5, 1), (0, 0), (3, 9)])
    assert figure.layout.yaxis.ticktext == ("L4", "L6")
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]
    assert [annotation.text for annotation in figure.layout.annotations] == ["<b>2</b>"]  # what is not there is not marked
    assert {tuple(pair) for pair in figure.data[0].customdata} == {(layer, head) for layer in (3, 5) for head in range(3)}


def test_a_click_selects_wherever_it_lands_and_nothing_can_be_dragged(make_map: Any) -> None:
    figure = head_grid([make_map()], LIGHT)
    assert figure.layout.hoverdistance == -1
    assert figure.layout.clickmode == "event+select"
    assert figure.layout.dragmode is False
    assert figure.data[0].unselected.marker.opacity == figure.data[0].marker.opacity == 0


def test_shades_are_the_weights_from_zero_to_one() -> None:
    weights = torch.tensor([[1.0, 0.0], [0.25, 0.75]])
    cells = tile(head_grid([one_head(weights)], LIGHT))
    shown = cells[cells != CLEAR].reshape(96, 96)[::48, ::48]
    np.testing.assert_array_equal(shown, (weights.numpy() * (SHADES - 1)).round())


def test_the_scale_is_fixed_whatever_the_weights_are() -> None:
    faint = tile(head_grid([one_head(torch.full((10, 10), 0.1))], LIGHT))
    assert set(np.unique(faint)) == {round(0.1 * (SHADES - 1)), CLEAR}


def test_a_long_sentence_keeps_its_peaks() -> None:
    cells = tile(head_grid([one_head(torch.eye(200))], LIGHT))
    shown = cells[cells != CLEAR].reshape(96, 96)[::2, ::2]
    np.testing.assert_array_equal(shown.diagonal(), np.full(MAX_CELL, SHADES - 1))


@pytest.mark.parametrize("length", [1, 60, 200])
def test_six_layers_of_eight_heads_stay_under_the_budget(make_map: Any, length: int) -> None:
    maps = [make_map(length, length, num_heads=8, layer=layer) for layer in range(6)]
    assert len(head_grid(maps, DARK, selected=[(5, 7)]).to_json()) < 150_000


def test_no_maps_and_maps_of_different_sentences_are_refused(make_map: Any) -> None:
    with pytest.raises(ValueError, match="no attention maps to draw"):
        head_grid([], LIGHT)
    with pytest.raises(ValueError, match=r"different sizes \(5 x 4, 6 x 4\)"):
        head_grid([make_map(), make_map(6)], LIGHT)
