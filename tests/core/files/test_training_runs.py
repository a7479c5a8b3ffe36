"""The runs of a training, from untrusted facts."""

from core.files.training_runs import steps_of_runs, training_runs


def test_runs_come_in_the_order_of_the_training() -> None:
    first = {"steps": 3, "seed": 1}
    second = {"steps": 5, "init": first}
    assert training_runs({"steps": 8, "init": second}) == [first, second, {"steps": 8, "init": second}]
    assert steps_of_runs({"steps": 8, "init": second}) == [3, 5, 8]


def test_other_runs_of_a_mean_come_before_its_own() -> None:
    first = {"steps": 3}
    side = {"steps": 4, "init": {"steps": 1}}
    files = [{"file": "a", "run": side}, {"file": "b", "run": {"steps": 5}}, {"file": "c"}]
    mean = {"steps": 8, "init": first, "averaged": files}
    assert steps_of_runs(mean) == [3, 1, 4, 5, 8]
    assert steps_of_runs({"steps": 9, "init": mean}) == [3, 1, 4, 5, 8, 9]


def test_facts_of_any_kind_are_no_error() -> None:
    assert training_runs(None) == training_runs("x") == []
    assert steps_of_runs({}) == [None]
    for averaged in ("x", 3, [1, "x", None], [{"run": 1}, {}]):
        assert steps_of_runs({"steps": 2, "averaged": averaged}) == [2]
    assert steps_of_runs({"steps": 1, "init": {"steps": "<b>", "init": ["x"]}}) == [None, 1]
    assert steps_of_runs({"steps": -1, "init": {"steps": 10**4000}}) == [None, None]  # more digits than are printed
