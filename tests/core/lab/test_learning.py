"""What models learn, whole and with parts taken away, with one seed: apart, as trainings take long with `--disturb`."""

from dataclasses import replace

from core.lab.tasks import TASKS
from core.lab.training import Training
from core.lab.variants import VARIANTS, Settings

SMALL = Settings(d_model=32, d_ff=64, num_heads=2, warmup=50, dropout=0)


def test_a_set_is_enough_to_sort_but_not_to_reverse_unseen_digits() -> None:
    one_layer = replace(SMALL, num_layers=1)
    sort, reverse = (Training(TASKS[name](), one_layer, [VARIANTS["no_positions"]]) for name in ("sort", "reverse"))
    whole = Training(TASKS["reverse"](), SMALL)  # whose first steps are those of paper.train: test_training.py
    for training in (sort, reverse, whole):
        list(training.steps(220))
    assert min(sort.exact(), whole.exact()) > 0.3 > 0.1 > reverse.exact()


def test_without_the_mask_the_loss_is_that_of_reading_the_answer() -> None:
    training = Training(TASKS["reverse"](), SMALL, [VARIANTS["no_causal_mask"], VARIANTS["no_smoothing"]])
    *_, last = training.steps(120)
    assert last.loss < 0.2  # where digits drawn by lot have ln 10
    assert training.exact() < 0.1
