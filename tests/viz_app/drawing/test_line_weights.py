import pytest
import torch

from viz_app.drawing.line_weights import has_line

WEIGHTS = torch.tensor([[0.5, 0.3, 0.2, 0.0], [0.01, 0.01, 0.0, 0.98]])


def test_faint_lines_are_not_drawn() -> None:
    assert has_line(WEIGHTS, min_weight=0.2).tolist() == [[True, True, True, False], [False, False, False, True]]


def test_no_weight_is_no_line() -> None:
    assert has_line(WEIGHTS, min_weight=0).tolist() == [[True, True, True, False], [True, True, False, True]]


@pytest.mark.parametrize("mass", [0.4, 0.75, 0.9])
def test_top_mass_is_reached_by_as_few_lines_as_can_be(mass: float) -> None:
    weights = torch.randn(6, 9, generator=torch.Generator().manual_seed(0)).softmax(-1)
    for row, kept in zip(weights, has_line(weights, min_weight=0, top_mass=mass), strict=True):
        assert row[kept].min() > row[~kept].max()
        assert row[kept].sum() - row[kept].min() < mass <= row[kept].sum()


def test_all_mass_is_all_lines_and_none_is_none() -> None:
    assert has_line(WEIGHTS, min_weight=0, top_mass=1).tolist() == (WEIGHTS > 0).tolist()
    assert not has_line(WEIGHTS, top_mass=0).any()


def test_shares_lie_between_zero_and_one() -> None:
    with pytest.raises(ValueError, match=r"top_mass \(1.5\) must be between 0 and 1"):
        has_line(WEIGHTS, top_mass=1.5)
    with pytest.raises(ValueError, match=r"min_weight \(-1\) must be between 0 and 1"):
        has_line(WEIGHTS, min_weight=-1)
