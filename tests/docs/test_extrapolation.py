"""What `docs/measurements/extrapolation.py` measured is true of the shipped models, and so are the words beside it."""

import pytest
import torch

from core.analysis.correlation import spearman
from core.analysis.positions import model_positions, position_similarity
from core.files.shipped_files import shipped_checkpoint
from core.formats.checkpoint import load_checkpoint
from core.model import sinusoidal_encoding
from docs.measurements.extrapolation import TRAINED, exact
from viz_app.views.paper.positions.figures.positions import extrapolation_table


@pytest.mark.parametrize("name", ["reverse-learned", "reverse-r4"])
def test_a_shipped_model_answers_as_measured(name: str) -> None:
    table = extrapolation_table()
    (measured,) = table.query("preset == @name and seed == 1 and letters == @TRAINED")["exact"]
    [found] = exact(shipped_checkpoint(name), [TRAINED])
    assert found == pytest.approx(measured, abs=0.02)  # rounding may decide between two letters


def test_learned_rows_are_like_sinusoids_where_they_were_trained() -> None:
    """As docs/pages/positions.md says."""
    learned = model_positions(load_checkpoint(shipped_checkpoint("reverse-learned")).model, 32)

    def correlation(count: int) -> float:
        mine, paper = (position_similarity(each[:count], "cosine") for each in (learned, sinusoidal_encoding(32, 64)))
        above = torch.ones(count, count).triu(1).bool()
        return spearman(mine[above], paper[above])

    assert correlation(8) > 0.9
    assert abs(correlation(32)) < 0.1


def test_neither_kind_of_positions_extrapolates() -> None:
    """As the view Positions says."""
    table = extrapolation_table()
    shares = table.pivot_table("exact", "letters", "preset")
    assert (shares.loc[:TRAINED, :] > 0.9).all(axis=None)
    assert (shares.loc[TRAINED + 2 :, :] < 0.1).all(axis=None)
    assert table["in_training"].equals(table["letters"] <= TRAINED)
