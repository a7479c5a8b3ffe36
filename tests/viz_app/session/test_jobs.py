"""Jobs: computed in turns, stopped and continued, by one thread at a time."""

import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from viz_app.session.jobs import Job, JobSlot


def test_a_job_advances_by_one_step_at_least_and_ends_with_the_last() -> None:
    results: list[str] = []

    def steps() -> Iterator[int]:
        yield from (2, 1)
        results.append("kept")

    job = Job(steps(), 3, "parts")
    assert (job.running, job.done, job.finished) == (True, 0, False)
    assert job.advance(0)
    assert (job.done, results) == (2, [])
    job.set_running(False)
    assert (job.done, job.finished) == (2, False)
    job.set_running(True)
    assert not job.advance(0)
    assert (job.running, job.done, job.finished, results) == (False, 3, True, ["kept"])
    assert not job.advance(10)
    assert results == ["kept"]


def test_given_enough_time_one_turn_does_it_all() -> None:
    job = Job(iter([1] * 50), 50, "parts")
    assert not job.advance(60)
    assert (job.done, job.finished) == (50, True)


def test_an_error_ends_the_job_with_its_message() -> None:
    def steps() -> Iterator[int]:
        yield 1
        raise ValueError("part 2: no such word")

    job = Job(steps(), 2, "parts")
    assert job.advance(0)
    assert not job.advance(0)
    assert (job.running, job.finished, job.error) == (False, False, "part 2: no such word")
    assert not job.advance(0)


def test_two_runs_of_a_page_at_once_compute_each_step_once() -> None:
    """Streamlit starts the next run of a page while an interrupted one is still inside a step."""
    begun, steps = threading.Event(), list[int]()

    def slow() -> Iterator[int]:
        for step in range(20):
            begun.set()
            time.sleep(0.002)
            steps.append(step)
            yield 1

    job = Job(slow(), 20, "parts")
    with ThreadPoolExecutor(2) as runs:
        first = runs.submit(lambda: [True for _ in iter(lambda: job.advance(0), False)])
        assert begun.wait(10)
        while job.advance(0):
            pass
        first.result()
    assert (steps, job.done, job.finished) == (list(range(20)), 20, True)


def test_a_closed_job_drops_what_its_steps_hold() -> None:
    class Held:
        pass

    def steps(held: Held) -> Iterator[int]:
        while held:
            yield 1

    held = Held()
    job, reference = Job(steps(held), 5, "parts"), weakref.ref(held)
    del held
    assert job.advance(0)
    job.close()
    assert reference() is None
    assert not job.running
    assert not job.advance(0)


@dataclass
class Measured:
    name: str
    job: Job


def begun(name: str) -> Measured:
    return Measured(name, Job(iter([1, 1]), 2, "parts"))


def refused() -> Measured:
    raise ValueError("cannot be measured")


def test_a_measurement_is_begun_once_and_dropped_with_its_model() -> None:
    slot = JobSlot[Measured]()
    first = slot.of("a", lambda: begun("a"))
    assert slot.of("a", refused) is first
    with pytest.raises(ValueError, match="cannot be measured"):
        slot.of("b", refused)
    assert slot.of("a", refused) is first
    assert slot.of("b", lambda: begun("b")).name == "b"
    second = slot.measured
    assert second is not None
    slot.forget_model("any")
    assert not second.job.running
    assert slot.measured is None
