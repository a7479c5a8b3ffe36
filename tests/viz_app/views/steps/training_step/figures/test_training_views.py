"""The views of a step of training show its numbers, and their formulas are read in the app and in files."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from core.analysis.training_step.step_numbers import TrainingStep
from core.analysis.training_step.training_step import TrainingStepOptions, training_step
from core.translator import Translator
from viz_app.language import speaking
from viz_app.views.steps.figures.formula import math_text, math_tree
from viz_app.views.steps.figures.step_views import StepView
from viz_app.views.steps.training_step.figures.training_views import training_views

SOURCE, TARGET = "A dog runs, a man stands.", "Ein Hund, ein Mann."
NAMES = ["shifted", "mask", "label", "loss", "gradient", "moments", "correction", "rate", "update", "result"]


@pytest.fixture(scope="module")
def found(translator: Translator) -> TrainingStep:
    return training_step(translator, SOURCE, TARGET, TrainingStepOptions(token=2))


@pytest.fixture(scope="module")
def views(found: TrainingStep) -> dict[str, StepView]:
    return {view.name: view for view in training_views(found, 64)}


def test_there_is_a_step_for_each_part_of_training(views: dict[str, StepView]) -> None:
    assert [*views] == NAMES


def test_what_goes_in_and_what_is_to_come_out(found: TrainingStep, views: dict[str, StepView]) -> None:
    rows = views["shifted"].blocks[0].rows
    assert [row.label for row in rows] == list(found.fed_tokens)
    assert [row.numbers[0] for row in rows] == pytest.approx(np.exp(found.log_probs))
    assert all(after.label.strip("▁") in row.note for row, after in itertools.pairwise(rows))
    seen = np.array([np.isfinite(row.values) for row in views["mask"].blocks[0].rows])
    assert np.array_equal(seen, np.tril(np.ones_like(seen)))
    for view in (views["shifted"], views["mask"], views["loss"], views["result"]):
        assert [row.is_marked for row in view.blocks[0].rows].index(True) == 2


def test_the_bars_sum_to_the_loss(found: TrainingStep, views: dict[str, StepView]) -> None:
    losses = [row.numbers[2] for row in views["loss"].blocks[0].rows]
    assert sum(filter(None, losses)) / len(losses) == pytest.approx(found.loss)
    assert f"{sum(filter(None, losses)):.3f}" in views["loss"].text
    entropy = -math.fsum(q * math.log(q) for q in [0.9 + 0.1 / 400] + [0.1 / 400] * 399)
    assert views["loss"].facts[1][1] == f"{entropy:.3f}"


def test_the_uses_sum_to_the_gradient(found: TrainingStep, views: dict[str, StepView]) -> None:
    block = views["gradient"].blocks[0]
    products = [row.numbers[2] or 0 for row in block.rows]
    power = round(math.log10(sum(products) / found.weight.gradient))
    assert sum(products) == pytest.approx(found.weight.gradient * 10.0**power)
    assert power % 3 == 0
    assert 1 <= max(map(abs, products)) < 1000
    assert {row.note for row in block.rows} >= {"embedding in the translation", "output matrix"}
    assert "all of them count" in views["gradient"].text


def test_the_numbers_stand_in_the_formulas(found: TrainingStep, views: dict[str, StepView]) -> None:
    assert math_text(math_tree(views["moments"].numbers[0])).startswith("m1=0.9⋅0+0.1⋅")
    (update,) = views["update"].numbers
    after = found.weight.value + found.adam.change.item()
    assert f"{after:.6g}".replace("-", "−") == math_text(math_tree(update)).rpartition("=")[2]
    assert "min(100−0.5,100⋅4000−1.5)" in math_text(math_tree(views["rate"].numbers[0]))
    (curve,) = (row.values for row in views["rate"].blocks[0].rows)
    assert int(curve.argmax()) in (29, 30)  # the middle of two warm-ups


def test_the_result_says_whether_the_step_was_too_large(found: TrainingStep) -> None:
    texts = {
        training_views(each, 64)[-1].text.partition(":")[0]
        for each in (
            found,
            replace(found, log_probs_after=tuple(each - 1 for each in found.log_probs)),
            replace(found, log_probs_after=tuple(each - 1 for each in found.log_probs), loss_after=found.loss + 1),
        )
    }
    assert len(texts) == 3
    assert any("the loss has grown" in text for text in texts)


@pytest.mark.parametrize("code", ["en", "de"])  # a decimal point, and a decimal comma
def test_every_formula_is_read(found: TrainingStep, code: str) -> None:
    with speaking(code):
        for view in training_views(found, 64):
            for formula in (view.formula, *view.numbers):
                assert math_text(math_tree(formula))
