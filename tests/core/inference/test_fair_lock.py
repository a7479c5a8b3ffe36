"""The lock of a model: one thread at a time, in the order of requests."""

import threading
import time
from collections.abc import Callable

import pytest

from core.inference.fair_lock import FairLock


def wait_until(condition: Callable[[], bool], message: str) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, message
        time.sleep(0.001)


def wait_until_waiting(lock: FairLock, count: int) -> None:
    wait_until(lambda: lock.num_waiting >= count, f"fewer than {count} threads wait for the lock")


def test_first_come_first_served_even_against_who_wants_it_back_at_once() -> None:
    lock, order, threads = FairLock(), list[str](), list[threading.Thread]()

    def take(name: str) -> None:
        with lock:
            order.append(name)

    with lock:
        for number, name in enumerate("abc", start=1):
            threads.append(threading.Thread(target=take, args=(name,)))
            threads[-1].start()
            wait_until_waiting(lock, number)
    take("d")
    for thread in threads:
        thread.join()
    assert order == ["a", "b", "c", "d"]


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
