"""The runs of a training, from untrusted facts."""

from core.files.training_runs import steps_of_runs, training_runs


def test_runs_come_in_the_order_of_the_training() -> None:
    first = {"steps": 3, "seed": 1}
    second = {"steps": 5, "init": first}
    assert training_runs({"steps": 8, "init": second}) == [first, second, {"steps": 8, "init": second}]
    assert steps_of_runs({"steps": 8, "init": second}) == [3, 5, 8]


def test_facts_of_any_kind_are_no_error() -> None:
    assert training_runs(None) == training_runs("x") == []
    assert steps_of_runs({}) == [None]
    assert steps_of_runs({"steps": 1, "init": {"steps": "<b>", "init": ["x"]}}) == [None, 1]
    assert steps_of_runs({"steps": -1, "init": {"steps": 10**4000}}) == [None, None]  # more digits than are printed
