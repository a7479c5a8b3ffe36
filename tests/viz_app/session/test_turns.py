"""The turns of visitors: who waits for whom, and that a run gives its turn back however it ends."""

import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from streamlit.runtime.scriptrunner import RerunException, StopException
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

from core.inference import fair_lock
from tests.core.inference.test_fair_lock import wait_until_waiting
from viz_app.session import turns
from viz_app.session.jobs import Job
from viz_app.session.turns import own_turn


@pytest.fixture
def visitors(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., threading.Thread]]:
    """`visitors(name, function)` runs a function in a thread of its own, in the session of a visitor.

    Who has computed at all has computed for long, and does not forget it.
    """
    sessions: dict[tuple[str, type[object]], object] = {}
    threads: list[threading.Thread] = []

    def start(name: str, function: Callable[[], object]) -> threading.Thread:
        thread = threading.Thread(target=function, name=name)
        thread.start()
        threads.append(thread)
        return thread

    def session_object(kind: type[Any]) -> Any:
        return sessions.setdefault((threading.current_thread().name, kind), kind())

    monkeypatch.setattr(fair_lock, "LIGHT", 0.0)
    monkeypatch.setattr(fair_lock, "FORGOTTEN", 1e9)
    monkeypatch.setattr(turns, "session_object", session_object)
    yield start
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


def take_turn(done: Callable[[], object] = lambda: None) -> None:
    with own_turn():
        done()


@pytest.mark.parametrize("end", [None, StopException(), RerunException(RerunData()), SystemExit()], ids=repr)
def test_visitors_who_compute_long_wait_for_each_other_and_nobody_else_does(
    visitors: Callable[..., threading.Thread], end: BaseException | None
) -> None:
    """However a run ends."""
    order, inside, leave = list[str](), threading.Event(), threading.Event()

    def first() -> None:
        inside.set()
        assert leave.wait(30)
        order.append("first")
        if end is not None:
            raise end

    def run(name: str, done: Callable[[], object]) -> threading.Thread:
        def whole() -> None:
            with pytest.raises(type(end)) if end is not None and done is first else nullcontext():
                take_turn(done)

        return visitors(name, whole)

    for name in ("first", "second"):
        run(name, lambda: None).join(30)
    run("first", first)
    assert inside.wait(30)
    run("second", lambda: order.append("second"))
    wait_until_waiting(turns._turn(), 1)
    run("somebody else", lambda: order.append("somebody else")).join(30)
    leave.set()
    run("third", lambda: None).join(30)
    run("second", lambda: None).join(30)
    assert order == ["somebody else", "first", "second"]


def test_a_run_that_waits_for_its_turn_does_not_hold_the_job_of_the_next_run(
    visitors: Callable[..., threading.Thread],
) -> None:
    """The next run of the same visitor may have the turn already."""
    job = Job(iter([1, 1]), 2, "parts")

    def next_run() -> None:
        visitors("visitor", lambda: job.advance(0))
        wait_until_waiting(turns._turn(), 1)
        job.advance(0)

    visitors("visitor", take_turn).join(30)
    visitors("visitor", lambda: take_turn(next_run)).join(30)
    assert job.done
