"""Tables of positions against the tensors that they are of."""

import numpy as np
import pytest
import torch

from core.analysis.score_decomposition import PARTS, ScoreParts
from core.model import sinusoidal_encoding
from viz_app.views.paper.positions.figures import position_tables
from viz_app.views.paper.positions.score_decomposition import score_map


@pytest.fixture
def parts() -> ScoreParts:
    """Two heads of a decoder that reads three tokens."""
    values = {
        name: torch.randn(2, 3, 3, generator=torch.Generator().manual_seed(place)) for place, name in enumerate(PARTS)
    }
    allowed = torch.ones(3, 3, dtype=torch.bool).tril()
    scores = torch.stack(list(values.values())).sum(0).masked_fill(~allowed, -torch.inf)
    return ScoreParts("decoder_self", ("<s>", "\u2581dog", "</s>"), values, scores, allowed)


def test_encoding_waves_and_similarity() -> None:
    encoding = sinusoidal_encoding(6, 8)
    np.testing.assert_array_equal(
        position_tables.encoding_table(encoding).drop(columns="position").to_numpy(), encoding.numpy()
    )
    curves = position_tables.sinusoids_table([0, 5], 6, 8)
    np.testing.assert_array_equal(
        curves["value"].to_numpy(dtype=np.float32), np.concatenate([encoding[:, 0], encoding[:, 5]])
    )
    similarity = position_tables.similarity_table(encoding).drop(columns="position").to_numpy()
    np.testing.assert_allclose(similarity, (encoding @ encoding.T).numpy(), rtol=1e-5)


def test_a_turned_position_stands_beside_the_one_that_it_ought_to_be() -> None:
    table = position_tables.rotation_table(3, 5, 8)
    np.testing.assert_allclose(table["position_3_turned"], table["position_8"], atol=1e-6)
    np.testing.assert_array_equal(table["position_3"].to_numpy(dtype=np.float32), sinusoidal_encoding(4, 8)[3].numpy())
    assert table["turned_by_degrees"][:2].tolist() == pytest.approx([np.degrees(5)] * 2)


def test_cosines_by_distance_begin_with_one() -> None:
    table = position_tables.by_distance_table(torch.randn(5, 4, generator=torch.Generator().manual_seed(0)))
    assert table.iloc[0].tolist() == pytest.approx([0, 1, 1, 1, 1])


def test_scores_and_their_parts_where_there_are_any(parts: ScoreParts) -> None:
    table = position_tables.score_table(parts, 1)
    assert len(table) == 6
    np.testing.assert_allclose(table[list(PARTS)].sum(axis=1), table["score"], atol=1e-5)
    assert table.iloc[1][["query", "key"]].tolist() == ["dog", "<s>"]


def test_the_map_of_a_part_leaves_out_what_the_mask_hides(parts: ScoreParts) -> None:
    drawn = score_map(parts.parts["bias"][0], parts, 3.0)
    assert drawn.weights[0, 0].isnan().tolist() == [False, True, True]
    torch.testing.assert_close(drawn.weights[0, 2] * 3, parts.parts["bias"][0, 2])
