import json
import sys
from pathlib import Path

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from train.data.batches import Position
from train.distributed import World
from train.recipe import Recipe
from train.runs.log_writer import Log, NotFiniteError, Window
from train.runs.run_folder import RunFolder

ALONE = World(torch.device("cpu"))
TEN_STEPS = Recipe(steps=10, minutes=1.0)


def filled(window: Window, losses: list[float], first_batch: int = 0) -> Window:
    for number, loss in enumerate(losses, first_batch):
        window.add(torch.tensor(10 * loss), torch.tensor(5 * loss), 10, Position(0, number))
    return window


def test_a_window_is_the_mean_per_token() -> None:
    window = Window(ALONE)
    window.add(torch.tensor(30.0), torch.tensor(20.0), 10, Position())
    window.add(torch.tensor(30.0), torch.tensor(25.0), 20, Position())
    assert window.close(2) == {"loss": 60 / 30, "nll": 45 / 30}
    assert filled(window, [7.0]).close(3) == {"loss": 7.0, "nll": 3.5}  # the window was cleared


def test_a_window_names_the_step_that_is_not_finite() -> None:
    for bad in (float("nan"), float("inf")):
        window = filled(Window(ALONE), [1.0, 2.0, bad, 3.0])
        with pytest.raises(NotFiniteError, match=f"the loss of step 9 is {bad}") as error:
            window.check(10)
        assert (error.value.step, error.value.position) == (9, Position(0, 2))


def test_a_window_is_restored_in_another_process() -> None:
    whole = filled(Window(ALONE), [1.5, 2.25, 3.125])
    first = filled(Window(ALONE), [1.5])
    state = json.loads(json.dumps(first.state()))
    assert filled(Window(ALONE, **state), [2.25, 3.125], 1).close(3) == whole.close(3)


def test_a_window_keeps_its_sums_where_and_as_they_were_computed() -> None:
    """MPS has no float64, and restored sums must be on the same device as new ones."""
    window = Window(World(torch.device("meta")), rows=[[30.0, 20.0, 10.0]], positions=[[0, 0]])
    window.add(torch.zeros((), device="meta"), torch.zeros((), device="meta"), 10, Position(0, 1))
    assert [(row.device.type, row.dtype) for row in window._sums] == [("meta", torch.float32)] * 2


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path)


def scalars(run: RunFolder, name: str) -> list[tuple[int, float]]:
    events = EventAccumulator(str(run.tensorboard))
    events.Reload()
    return [(event.step, event.value) for event in events.Scalars(name)]


def test_numbers_go_to_the_log_and_the_curves(run: RunFolder) -> None:
    with Log(run, ALONE, 0, TEN_STEPS) as log:
        log.write("train", 5, nll=2.5)
        log.sample(5, "a dog", "ein Hund", "eine Katze")
    lines = [json.loads(line) for line in run.log.read_text(encoding="utf-8").splitlines()]
    assert lines == [
        {"kind": "train", "step": 5, "nll": 2.5},
        {"kind": "sample", "step": 5, "source": "a dog", "reference": "ein Hund", "translation": "eine Katze"},
    ]
    assert scalars(run, "train/nll") == [(5, 2.5)]


def test_curves_of_a_resumed_run_have_every_step_once(run: RunFolder) -> None:
    with Log(run, ALONE, 0, TEN_STEPS) as log:
        for step in (2, 4, 6):
            log.write("train", step, nll=1.0)
    with Log(run, ALONE, 4, TEN_STEPS) as log:  # the state was of step 4
        for step in (6, 8):
            log.write("train", step, nll=2.0)
    assert scalars(run, "train/nll") == [(2, 1.0), (4, 1.0), (6, 2.0), (8, 2.0)]


def test_the_log_of_a_killed_run_is_cut_back_to_its_state(run: RunFolder) -> None:
    sample = dict.fromkeys(
        ("source", "reference", "translation"), "a\u2028b\x85c"
    )  # characters that end a line for `str.splitlines`
    lines = [json.dumps({"kind": "sample", "step": step, **sample}, ensure_ascii=False) for step in (2, 4, 6)]
    run.log.write_text("\n".join([*lines, '{"kind": "train", "st']), encoding="utf-8")
    run.truncate_log(4)
    assert run.log.read_text(encoding="utf-8") == "".join(f"{line}\n" for line in lines[:2])


def test_a_terminal_gets_a_bar(run: RunFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Log(run, ALONE, 4, TEN_STEPS) as log:
        log.step(100)
        log.write("train", 5, nll=2.5, tokens_per_second=1234.0)
    shown = capsys.readouterr().err
    assert "5/10" in shown
    assert "nll=2.5, tokens_per_second=1234" in shown


def test_a_file_gets_a_line_in_twenty_seconds_with_the_smaller_of_both_times_left(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr("train.runs.log_writer.SHOWN_EVERY", 20)
    monkeypatch.setattr("train.runs.log_writer.time.perf_counter", lambda: now)
    with Log(run, ALONE, 0, TEN_STEPS) as log:
        for step, now in enumerate((101.0, 102.0, 121.0, 139.0, 141.0), 1):
            assert log.is_due() == (now - 100 >= 20)
            log.write("train", step, nll=2.5, seconds_per_step=3.0, hours=40 / 3600)
    shown = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in shown] == ["train 1/10", "train 3/10", "train 5/10"]
    assert [line.split(", ")[-1] for line in shown] == ["00:20 left", "00:20 left", "00:15 left"]


def test_the_pace_counts_from_the_last_call(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 2.0, 2.0, 7.0, 7.0])
    monkeypatch.setattr("train.runs.log_writer.time.perf_counter", lambda: next(clock))
    with Log(run, ALONE, 0, TEN_STEPS) as log:
        log.step(100)
        log.step(300)
        assert log.pace() == {"tokens_per_second": 200.0, "seconds_per_step": 1.0}
        log.step(50)
        assert log.pace() == {"tokens_per_second": 10.0, "seconds_per_step": 5.0}


def test_only_the_first_process_logs(run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    with Log(run, World(torch.device("cpu"), rank=1, size=2), 0, TEN_STEPS) as log:
        log.step(100)
        log.write("train", 5, nll=2.5)
        log.print("hello")
    assert not run.log.exists()
    assert capsys.readouterr().err == ""
