import math

import numpy as np
import pytest

from core.files.runlog import LogLine
from core.model.schedule import learning_rate
from viz_app.drawing.theme import DARK, LIGHT
from viz_app.views.models.figures import training_curves
from viz_app.views.models.figures.training_curves import PAPER, Schedule

LINES: list[LogLine] = [
    {"kind": "train", "step": 25, "nll": 3.0, "rate": 1e-4, "tokens_per_second": 900.0},
    {"kind": "train", "step": 50, "nll": 2.0, "rate": 2e-4, "tokens_per_second": 950.0},
    {"kind": "valid", "step": 50, "nll": 1.5, "perplexity": math.exp(1.5)},
    {"kind": "sample", "step": 50, "source": "a", "reference": "b", "translation": "c"},
]


def test_curves_are_the_logged_numbers_training_and_validation_apart() -> None:
    train, valid = training_curves.curves(LINES, "nll", LIGHT).data
    assert (train.x.tolist(), train.y.tolist()) == ([25, 50], [3.0, 2.0])
    assert (valid.x.tolist(), valid.y.tolist()) == ([50], [1.5])
    assert "markers" in valid.mode
    assert "markers" not in train.mode  # not told apart by colour alone


def test_perplexity_is_computed_where_it_is_not_logged() -> None:
    train, valid = training_curves.curves(LINES, "perplexity", DARK).data
    np.testing.assert_allclose(train.y, np.exp([3.0, 2.0]), rtol=1e-6)
    np.testing.assert_allclose(valid.y, [math.exp(1.5)], rtol=1e-6)


def test_a_curve_without_positive_numbers_is_drawn() -> None:
    for nll in (float("nan"), float("-inf")):
        assert training_curves.curves([{"kind": "train", "step": 1, "nll": nll}], "perplexity", LIGHT).to_json()


def test_the_table_has_every_number_but_no_samples() -> None:
    table = training_curves.curves_table(LINES)
    assert table[["step", "kind"]].to_numpy().tolist() == [[25, "train"], [50, "train"], [50, "valid"]]
    assert "translation" not in table
    assert training_curves.curves_table([]).empty


def test_the_papers_schedule_is_that_of_section_5_3() -> None:
    figure = training_curves.schedule(
        Schedule(d_model=256, warmup=100, rate_scale=0.5, cooldown=50), 5_000, LIGHT, LINES
    )
    paper, mine, logged = figure.data
    assert paper.y[paper.x.tolist().index(4_000)] == pytest.approx((512 * 4_000) ** -0.5)
    assert mine.y[mine.x.tolist().index(100)] == pytest.approx(0.5 * (256 * 100) ** -0.5)
    assert mine.y[-1] == pytest.approx(0.5 * learning_rate(5_000, 256, 100) / 51)
    assert logged.y.tolist() == [1e-4, 2e-4]
    table = training_curves.schedule_table(PAPER, 5_000)
    assert (table["rate"] == table["paper_rate"]).all()


def test_a_schedule_shorter_than_its_warm_up_has_no_peak() -> None:
    steps = training_curves.schedule_steps(PAPER, 100)
    assert (steps[0], steps[-1]) == (1, 100)
    assert steps == sorted(set(steps))
