"""The lock of a model: one thread at a time, in the order of requests."""

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext

import pytest

from core.inference import fair_lock
from core.inference.fair_lock import FairLock, patient


def wait_until(condition: Callable[[], bool], message: str) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, message
        time.sleep(0.001)


def wait_until_waiting(lock: FairLock, count: int) -> None:
    wait_until(lambda: lock.num_waiting >= count, f"fewer than {count} threads wait for the lock")


def order_of(*names: str) -> list[str]:
    """The order in which threads acquire a lock that they wait for, in capitals patiently, and who held it."""
    lock, order = FairLock(), list[str]()

    def take(name: str) -> None:
        with patient() if name.isupper() else nullcontext(), lock:
            order.append(name)

    with lock:
        threads = [threading.Thread(target=take, args=(name,)) for name in names]
        for number, thread in enumerate(threads, start=1):
            thread.start()
            wait_until_waiting(lock, number)
    take("again")
    for thread in threads:
        thread.join()
    return order


def test_first_come_first_served_even_against_who_wants_it_back_at_once() -> None:
    assert order_of("a", "b", "c") == ["a", "b", "c", "again"]


def test_who_computes_long_lets_others_go_first_but_not_for_ever() -> None:
    assert order_of(*"ABcd") == ["c", "d", "again", "A", "B"]
    assert order_of(*"Abcdefg") == ["b", "c", "d", "e", "A", "f", "g", "again"]


def test_between_two_passes_of_a_long_analysis_a_short_request_gets_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although other analyses have waited longer; what a thread has held of late says which is one."""
    monkeypatch.setattr(fair_lock, "LIGHT", 0.0)
    lock, order, begun = FairLock(), list[str](), threading.Barrier(3)

    def analyse(name: str) -> None:
        for step in range(3):
            with lock:
                order.append(f"{name}{step}")
            if not step:
                begun.wait(30)
                begun.wait(30)

    threads = [threading.Thread(target=analyse, args=(name,)) for name in "AB"]
    for thread in threads:
        thread.start()
    begun.wait(30)
    with lock:
        begun.wait(30)
        wait_until_waiting(lock, 2)
        threads.append(threading.Thread(target=lambda: lock.__enter__() or order.append("light") or lock.__exit__()))
        threads[-1].start()
        wait_until_waiting(lock, 3)
    for thread in threads:
        thread.join(30)
    assert sorted(order[:2]) == ["A0", "B0"]
    assert order[2] == "light"


def test_a_search_keeps_its_turn_between_two_passes_for_some_time(monkeypatch: pytest.MonkeyPatch) -> None:
    lock, order = FairLock(), list[str]()

    def analyse() -> None:
        with patient(), lock:
            order.append("analysis")

    for name, value in (("COMES_BACK", 0.0), ("LIGHT", 0.0)):
        monkeypatch.setattr(fair_lock, "COMES_BACK", 1e6)
        monkeypatch.setattr(fair_lock, "LIGHT", 1e6)
        with lock:
            thread = threading.Thread(target=analyse)
            thread.start()
            wait_until_waiting(lock, 1)
        for _ in range(3):
            with lock:
                order.append("pass")
        with lock:
            order.append("last")
            monkeypatch.setattr(fair_lock, name, value)
        thread.join(30)
        assert order == ["pass", "pass", "pass", "last", "analysis"]
        order.clear()


def test_the_same_thread_may_enter_again_and_keeps_it_until_it_has_left_as_often() -> None:
    lock, order = FairLock(), list[str]()

    def take() -> None:
        with lock:
            order.append("other")

    other = threading.Thread(target=take)
    with lock:
        with lock:
            other.start()
            wait_until_waiting(lock, 1)
        order.append("mine")
    other.join()
    assert order == ["mine", "other"]


def test_an_error_inside_lets_go_of_it() -> None:
    lock = FairLock()
    with pytest.raises(KeyError), lock:
        raise KeyError
    thread = threading.Thread(target=lambda: lock.__enter__())
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
