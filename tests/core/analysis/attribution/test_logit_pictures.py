"""The pictures of the terms of a logit."""

import pytest
import torch

from core.analysis.attribution.logit_attribution import LogitAttribution
from core.analysis.pictures import Cell, effect_limit
from core.trace import Head

AT = Head("cross", 1, 2)


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
        key_tokens={"decoder_self": ["a", "b"], "cross": list("vwxyz")},
        piece=str,
    )


def test_the_bars_sum_to_the_logit_and_lead_to_their_strongest_heads(found: LogitAttribution) -> None:
    bars = found.pictures(AT)[0]
    assert sum(sum(each.values) for each in bars.series) == pytest.approx(found.total)
    assert bars.columns == ["Input", "L1", "L2"]
    for kind, series in zip(("cross", "decoder_self"), bars.series[:2], strict=True):
        for layer in range(2):
            own = {head: abs(value) for head, value in found.heads().items() if head[:2] == (kind, layer)}
            assert series.heads[layer + 1] == max(own, key=own.__getitem__)
    assert not any(each.heads for each in bars.series[2:])


def test_every_head_has_its_cell(found: LogitAttribution) -> None:
    grid = found.pictures(AT)[1]
    assert [len(cells) for _, cells in grid.rows] == [len(grid.columns)] * 2 == [8, 8]
    cells = [cell for _, cells in grid.rows for cell in cells if cell]
    assert {cell.head: float(cell.says) for cell in cells if cell.head} == {
        head: pytest.approx(value, abs=6e-4) for head, value in found.heads().items()
    }
    limit = effect_limit([*found.heads().values(), *found.feed_forward.tolist(), *found.biases.tolist()])
    assert grid.ends == (f"{-limit:.1f}", f"{limit:+.1f}")
    assert max(abs(cell.shade) for cell in cells) == 1


def test_a_cell_of_a_token_has_the_sum_of_its_heads_and_leads_to_the_strongest(found: LogitAttribution) -> None:
    of_source, of_prefix = found.pictures(AT)[2:]
    by_head = found.cross[1, :, 3]
    cell = of_source.rows[3][1][1]
    assert isinstance(cell, Cell)
    assert (cell.head, float(cell.says)) == (
        Head("cross", 1, int(by_head.abs().argmax())),
        pytest.approx(float(by_head.sum()), abs=6e-4),
    )
    of_all = of_prefix.rows[1][1][2]  # the column of all layers
    assert of_all is not None
    assert of_all.head is not None
    _, layer, head = of_all.head
    assert abs(found.decoder_self[layer, head, 1]) == found.decoder_self[..., 1].abs().max()


def test_the_answer_names_the_head_that_adds_most(found: LogitAttribution) -> None:
    best = max(found.heads(), key=found.heads().__getitem__)
    assert f"of the heads {best} adds most, {found.heads()[best]:+.2f}." in found.answer(AT)
