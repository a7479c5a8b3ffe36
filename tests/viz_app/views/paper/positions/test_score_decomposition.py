"""The scores of the first layer as tables and maps."""

import pytest
import torch

from core.analysis.score_decomposition import PARTS, ScoreParts
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


def test_scores_and_their_parts_where_there_are_any(parts: ScoreParts) -> None:
    table = parts.table(1)
    rows = list(zip(*(table[name] for name in PARTS), strict=True))
    assert len(rows) == 6
    assert [sum(row) for row in rows] == pytest.approx(table["score"], abs=1e-5)
    assert (table["query"][1], table["key"][1]) == ("dog", "<s>")


def test_the_map_of_a_part_leaves_out_what_the_mask_hides(parts: ScoreParts) -> None:
    drawn = score_map(parts.parts["bias"][0], parts, 3.0)
    assert drawn.weights[0, 0].isnan().tolist() == [False, True, True]
    torch.testing.assert_close(drawn.weights[0, 2] * 3, parts.parts["bias"][0, 2])
