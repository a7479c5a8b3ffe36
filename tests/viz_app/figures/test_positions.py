import numpy as np
import pytest

from core.model import sinusoidal_encoding
from viz_app.figures.positions import encoding_heatmap, position_similarity, sinusoids
from viz_app.figures.theme import DARK, LIGHT


def test_the_heatmap_is_the_encoding() -> None:
    heat = encoding_heatmap(12, 16, LIGHT).data[0]
    np.testing.assert_array_equal(heat.z, sinusoidal_encoding(12, 16).numpy())
    assert (heat.zmin, heat.zmax) == (-1, 1)


def test_sines_first_only_changes_the_order_of_the_columns() -> None:
    heat = encoding_heatmap(12, 16, LIGHT, sines_first=True).data[0]
    np.testing.assert_array_equal(heat.z, sinusoidal_encoding(12, 16).numpy()[:, heat.customdata[0]])
    assert heat.customdata[0].tolist() == [*range(0, 16, 2), *range(1, 16, 2)]


def test_the_dots_are_the_encoding_and_the_curves_run_through_them() -> None:
    traces = sinusoids([0, 3, 14], 10, 16, DARK).data
    for dimension, curve, dots in zip([0, 3, 14], traces[::2], traces[1::2], strict=True):
        np.testing.assert_array_equal(dots.y, sinusoidal_encoding(10, 16)[:, dimension].numpy())
        np.testing.assert_allclose(np.interp(dots.x, curve.x, curve.y), dots.y, atol=1e-5)


def test_a_dimension_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="dimension 16 is not among 0 to 15, those of d_model 16"):
        sinusoids([16], 10, 16, LIGHT)


def test_similarity_is_largest_at_home() -> None:
    dot = position_similarity(9, 16, LIGHT).data[0]
    cosine = position_similarity(9, 16, LIGHT, "cosine").data[0]
    np.testing.assert_allclose(np.diagonal(dot.z), 8, rtol=1e-5)
    np.testing.assert_allclose(np.diagonal(cosine.z), 1, rtol=1e-5)
    assert (dot.zmin, dot.zmax, cosine.zmin, cosine.zmax) == (-8, 8, -1, 1)


def test_one_position_is_enough() -> None:
    assert encoding_heatmap(1, 2, LIGHT).data[0].z.shape == (1, 2)
    assert sinusoids([0], 1, 2, LIGHT).data[1].y.tolist() == [0]
