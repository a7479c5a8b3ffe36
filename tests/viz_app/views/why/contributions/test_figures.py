"""Grids, bars and tables of contributions to a logit."""

import pytest
import torch

from core.analysis.attribution.logit_attribution import LogitAttribution
from core.analysis.heads.head import Head
from viz_app.drawing.export.plotly_chart import export_chart
from viz_app.drawing.theme import LIGHT
from viz_app.views.why.contributions.figures import (
    bar_head,
    grid_head,
    heads_grid,
    layer_parts,
    layers_figure,
    token_head,
)


@pytest.fixture
def found() -> LogitAttribution:
    random = torch.Generator().manual_seed(2)
    own, cross = torch.randn(2, 3, 4, generator=random), torch.randn(2, 3, 5, generator=random)
    own[:, :, 2:] = 0
    return LogitAttribution(
        position=1,
        token=7,
        against=None,
        logit=0.0,
        token_embedding=0.5,
        position_embedding=-0.25,
        decoder_self=own.double(),
        cross=cross.double(),
        feed_forward=torch.tensor([1.0, -2.0]).double(),
        biases=torch.tensor([0.125, 0.0]).double(),
        key_tokens={},
        piece=str,
    )


def test_the_bars_sum_to_the_logit(found: LogitAttribution) -> None:
    assert sum(map(sum, layer_parts(found).values())) == pytest.approx(found.total)
    figure = layers_figure(found, LIGHT)
    assert sum(sum(trace.y) for trace in figure.data) == pytest.approx(found.total)
    assert list(figure.data[0].x) == ["Input", "L1", "L2"]


def test_a_bar_of_attention_leads_to_its_strongest_head(found: LogitAttribution) -> None:
    figure, parts = layers_figure(found, LIGHT), list(layer_parts(found))
    assert [trace.name for trace in figure.data] == parts
    for kind, name in (("cross", "Cross-attention"), ("decoder_self", "Self-attention")):
        for layer in range(2):
            own = {head: abs(value) for head, value in found.heads().items() if head[:2] == (kind, layer)}
            bar = {"curve_number": parts.index(name), "point_index": layer + 1}
            assert bar_head(found, bar) == max(own, key=own.__getitem__)
    wrong = [{"curve_number": part, "point_index": 1} for part in (*range(2, 6), 6, -1)]
    wrong += [{"curve_number": 0, "point_index": column} for column in (0, 3, -1)]
    assert not any(bar_head(found, bar) for bar in [*wrong, {}])


def test_bars_can_be_exported(found: LogitAttribution) -> None:
    assert export_chart(layers_figure(found, LIGHT), "svg").startswith(b"<?xml")


def test_every_head_has_its_cell(found: LogitAttribution) -> None:
    head = Head("cross", 1, 2)
    grid = heads_grid(found, LIGHT, head)
    assert [len(cells) for _, cells in grid.rows] == [len(grid.columns)] * 2 == [8, 8]
    places = [(row, column) for row in range(2) for column in range(8) if grid_head((row, column), 3) == head]
    assert places == [(1, 5)]
    marked = [(row, column) for row in range(2) for column in range(8) if grid.rows[row][1][column].marked]  # type: ignore[union-attr]
    assert marked == places
    cell = grid.rows[1][1][5]
    assert cell is not None
    assert cell.name == f"Cross L2 H3: {float(found.cross[1, 2].sum()):+.3f}".replace("-", "\u2212")
    assert grid_head((0, 6), 3) is None


def test_a_cell_of_a_token_opens_the_head_that_adds_most_to_it(found: LogitAttribution) -> None:
    by_head = found.cross[1, :, 3].abs().tolist()
    assert token_head(found, "cross", (3, 1)) == Head("cross", 1, by_head.index(max(by_head)))
    of_all = token_head(found, "decoder_self", (1, 2))  # the column of all layers
    assert abs(found.decoder_self[of_all.layer, of_all.head, 1]) == found.decoder_self[..., 1].abs().max()
