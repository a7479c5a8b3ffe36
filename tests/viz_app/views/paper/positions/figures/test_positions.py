import numpy as np
import pytest
import torch

from core.analysis.positions import CHANGE, changing_waves
from core.model import sinusoidal_encoding
from viz_app.drawing.theme import LIGHT
from viz_app.views.paper.positions.figures import positions


def test_the_heatmap_is_the_encoding() -> None:
    heat = positions.encoding_heatmap(sinusoidal_encoding(12, 16), LIGHT).data[0]
    np.testing.assert_array_equal(heat.z, sinusoidal_encoding(12, 16).numpy())
    assert (heat.zmin, heat.zmax) == (-1, 1)


def test_sinusoids_are_drawn_where_they_change_sines_and_cosines_apart() -> None:
    encoding = sinusoidal_encoding(16, 64)
    waves = changing_waves(encoding)
    heat = positions.encoding_heatmap(encoding, LIGHT, waves).data[0]
    sines, gap, cosines = np.split(heat.customdata[0], [len(waves) // 2, len(waves) // 2 + 1])
    assert (gap == -1).all()
    assert np.isnan(heat.z[:, len(sines)]).all()
    assert (sines % 2 == 0).all()
    assert (cosines == sines + 1).all()
    np.testing.assert_array_equal(np.delete(heat.z, len(sines), axis=1), encoding.numpy()[:, [*sines, *cosines]])
    left_out = np.setdiff1d(np.arange(64), waves)
    assert len(left_out) > 0
    assert np.ptp(encoding.numpy()[:, left_out], axis=0).max() <= CHANGE
    assert len(changing_waves(sinusoidal_encoding(1, 8))) == 8  # of a single position nothing changes


def test_the_dots_are_the_encoding_and_the_curves_run_through_them() -> None:
    curves = positions.sinusoids([0, 3, 14], 10, 16).curves
    for dimension, curve, dots in zip([0, 3, 14], curves[::2], curves[1::2], strict=True):
        np.testing.assert_array_equal(dots.values, sinusoidal_encoding(10, 16)[:, dimension].tolist())
        np.testing.assert_allclose(np.interp(dots.places, curve.places, curve.values), dots.values, atol=1e-5)


def test_a_dimension_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="dimension 16 is not among 0 to 15, those of d_model 16"):
        positions.sinusoids([16], 10, 16)


def test_the_colours_of_similarity_reach_to_its_largest_value() -> None:
    encoding = sinusoidal_encoding(9, 16)
    dot, cosine, distance = (
        positions.position_similarity(encoding, LIGHT, each).data[0] for each in ("dot", "cosine", "distance")
    )
    assert (dot.zmin, dot.zmax, cosine.zmin, cosine.zmax) == pytest.approx((-8, 8, -1, 1))
    assert (distance.zmin, distance.zmax) == (0, distance.z.max())


def test_the_hands_stand_where_the_encoding_says_and_the_arcs_join_them() -> None:
    encoding = sinusoidal_encoding(12, 16)
    traces = positions.rotation_circles([0, 3], 4, 7, 16, LIGHT).data
    for place, pair in enumerate((0, 3)):
        _, arc, first, second = traces[4 * place : 4 * place + 4]
        center = positions.CLOCK_PITCH * place
        for hand, position in ((first, 4), (second, 11)):
            np.testing.assert_allclose(
                (hand.x[1] - center, hand.y[1]), encoding[position, 2 * pair : 2 * pair + 2].numpy(), atol=1e-6
            )
        for hand, end in ((first, 0), (second, -1)):
            angle = np.arctan2(arc.x[end] - center, arc.y[end]) - np.arctan2(hand.x[1] - center, hand.y[1])
            assert np.cos(angle) == pytest.approx(1)


def test_learned_positions_beside_sinusoids_by_distance() -> None:
    learned = torch.randn(20, 16, generator=torch.Generator().manual_seed(0))
    most, least, mean, paper = (np.array(curve.values) for curve in positions.by_distance(learned).curves)
    assert (least <= mean + 1e-6).all()
    assert (mean <= most + 1e-6).all()
    np.testing.assert_allclose(
        paper, positions.position_similarity(sinusoidal_encoding(20, 16), LIGHT, "cosine").data[0].z[0], atol=1e-5
    )


def test_one_position_is_enough() -> None:
    assert positions.encoding_heatmap(sinusoidal_encoding(1, 2), LIGHT).data[0].z.shape == (1, 2)
    assert positions.sinusoids([0], 1, 2).curves[1].values == [0]
    assert len(positions.rotation_circles([0], 0, 0, 2, LIGHT).data) == 4
