"""What `docs/measurements/extrapolation.py` measured is true of the shipped models, and so are the words beside it."""

import pytest

from core.analysis.positions import correlation_with_sinusoids, extrapolation_table, model_positions
from core.files.shipped_files import shipped_checkpoint
from core.formats.checkpoint import load_checkpoint
from docs.measurements.extrapolation import TRAINED, exact


@pytest.mark.parametrize("name", ["reverse-learned", "reverse-r4"])
def test_a_shipped_model_answers_as_measured(name: str) -> None:
    table = extrapolation_table()
    (measured,) = table.query("preset == @name and seed == 1 and letters == @TRAINED")["exact"]
    [found] = exact(shipped_checkpoint(name), [TRAINED])
    assert found == pytest.approx(measured, abs=0.02)  # rounding may decide between two letters


def test_learned_rows_are_like_sinusoids_where_they_were_trained() -> None:
    """As docs/pages/positions.md says."""
    learned = model_positions(load_checkpoint(shipped_checkpoint("reverse-learned")).model, 32)
    assert correlation_with_sinusoids(learned[:8]) > 0.9
    assert abs(correlation_with_sinusoids(learned)) < 0.1


def test_neither_kind_of_positions_extrapolates() -> None:
    """As the view Positions says."""
    table = extrapolation_table()
    shares = table.pivot_table("exact", "letters", "preset")
    assert (shares.loc[:TRAINED, :] > 0.9).all(axis=None)
    assert (shares.loc[TRAINED + 2 :, :] < 0.1).all(axis=None)
    assert table["in_training"].equals(table["letters"] <= TRAINED)
