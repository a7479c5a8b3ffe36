"""Curves of a training run."""

import math

import pytest

from core.analysis import training_log
from core.files.runlog import LogLine
from core.model.schedule import learning_rate

LINES: list[LogLine] = [
    {"kind": "train", "step": 25, "nll": 3.0, "rate": 1e-4, "tokens_per_second": 900.0},
    {"kind": "train", "step": 50, "nll": 2.0, "rate": 2e-4, "tokens_per_second": 950.0},
    {"kind": "valid", "step": 50, "nll": 1.5, "perplexity": math.exp(1.5)},
    {"kind": "sample", "step": 50, "source": "a", "reference": "b", "translation": "c"},
]


def test_curves_are_the_logged_numbers_training_and_validation_apart() -> None:
    train, valid = training_log.log_curves(LINES, "nll").curves
    assert (train.places, train.values, train.shape) == ([25, 50], [3.0, 2.0], "line")
    assert (valid.places, valid.values, valid.shape) == ([50], [1.5], "both")  # not told apart by colour alone


def test_perplexity_is_computed_where_it_is_not_logged() -> None:
    train, valid = training_log.log_curves(LINES, "perplexity").curves
    assert [*train.values, *valid.values] == pytest.approx([math.exp(nll) for nll in (3.0, 2.0, 1.5)])
    for nll in (math.nan, -math.inf, 1e6):
        drawn = training_log.log_curves([{"kind": "train", "step": 1, "nll": nll}], "perplexity")
        assert drawn.scale == "linear"
        assert not 0 < drawn.curves[0].values[0] < math.inf


def test_a_run_is_judged_by_its_validation_losses() -> None:
    for losses, said in (
        ([], "The training loss is 2.000 nats per token at step 50; nothing has been validated."),
        ([3.0], "The first validation, at step 10, has a loss of 3.000 nats per token."),
        ([3.0, 2.0], "The run still improves: the validation loss is 2.000 nats per token, at step 10 it was 3.000."),
        ([2.0, 1.99], "The run is level: the validation loss is 1.990 nats per token, at step 10 it was 2.000."),
        ([3.0, 2.0, 2.5, math.nan], "lowest at step 20, 2.000 nats per token, and is 2.500."),
    ):
        valid = [{"kind": "valid", "step": 10 * at, "nll": loss} for at, loss in enumerate(losses, start=1)]
        assert said in (training_log.run_answer([*LINES[:2], *valid]) or "")
    assert training_log.run_answer(LINES[3:]) is None


def test_the_table_has_every_number_but_no_samples() -> None:
    table = training_log.log_columns(LINES)
    assert (table["step"], table["kind"]) == ([25, 50, 50], ["train", "train", "valid"])
    assert "translation" not in table
    assert training_log.log_columns([]) == {"step": [], "kind": []}


def test_the_papers_schedule_is_that_of_section_5_3() -> None:
    drawn = training_log.schedule_curves(
        training_log.Schedule(d_model=256, warmup=100, rate_scale=0.5, cooldown=50), 5_000, LINES
    )
    paper, mine, logged = drawn.curves
    assert paper.values[paper.places.index(4_000)] == pytest.approx((512 * 4_000) ** -0.5)
    assert mine.values[mine.places.index(100)] == pytest.approx(0.5 * (256 * 100) ** -0.5)
    assert mine.values[-1] == pytest.approx(0.5 * learning_rate(5_000, 256, 100) / 51)
    assert logged.values == [1e-4, 2e-4]


def test_a_run_with_minutes_is_drawn_by_its_pace() -> None:
    """100 steps in 2 of 10 minutes, so 500 in all; the warm-up is 50 of 200 steps, at half the peak."""
    recipe = {"steps": 10_000, "warmup": 200, "rate_scale": 1.0, "cooldown": 0, "schedule": "constant", "seed": 1}
    lines: list[LogLine] = [{"kind": "train", "step": 100, "hours": 2 / 60}]
    assert training_log.run_schedule(recipe, 64, lines)[1] == 10_000
    schedule, last_step = training_log.run_schedule({**recipe, "minutes": 10.0, "cooldown_minutes": 2.5}, 64, lines)
    assert (last_step, schedule.warmup, schedule.cooldown) == (500, 50, 125)
    rates = schedule.rates(range(1, 501), 500)
    assert max(rates) == pytest.approx(0.5 * learning_rate(200, 64, 200)) == rates[374]
    assert rates[49] == pytest.approx(rates[374])


def test_a_schedule_shorter_than_its_warm_up_has_no_peak() -> None:
    steps = training_log.schedule_steps(training_log.PAPER, 100)
    assert (steps[0], steps[-1]) == (1, 100)
    assert steps == sorted(set(steps))
