"""The memory of readings, and the order in which it forgets them."""

import threading

import pytest

from viz_app.session.memory import Memory


def test_a_value_is_computed_once() -> None:
    memory: Memory[str] = Memory(2)
    calls: list[str] = []

    def compute() -> str:
        calls.append("now")
        return "value"

    assert [memory.get("key", compute) for _ in range(3)] == ["value"] * 3
    assert calls == ["now"]


def test_what_was_used_longest_ago_is_forgotten() -> None:
    memory: Memory[int] = Memory(2)
    memory.get("a", lambda: 1)
    memory.get("b", lambda: 2)
    memory.get("a", lambda: 10)
    memory.get("c", lambda: 3)
    assert memory.get("a", lambda: 10) == 1
    assert memory.get("b", lambda: 20) == 20


def test_an_error_is_not_remembered() -> None:
    memory: Memory[int] = Memory(2)

    def fails() -> int:
        raise ValueError("not this time")

    with pytest.raises(ValueError, match="not this time"):
        memory.get("key", fails)
    assert memory.get("key", lambda: 5) == 5


def test_a_slow_computation_does_not_keep_others_waiting() -> None:
    memory: Memory[int] = Memory(2)
    started, finish = threading.Event(), threading.Event()

    def slow() -> int:
        started.set()
        assert finish.wait(10)
        return 1

    thread = threading.Thread(target=memory.get, args=("slow", slow))
    thread.start()
    assert started.wait(10)
    assert memory.get("quick", lambda: 2) == 2
    finish.set()
    thread.join()
    assert memory.get("slow", lambda: 3) == 1


def test_two_who_ask_for_the_same_at_once_have_it_computed_once() -> None:
    memory: Memory[int] = Memory(2)
    started, finish = threading.Event(), threading.Event()
    found: list[int] = []

    def slow() -> int:
        started.set()
        assert finish.wait(10)
        return 1

    first = threading.Thread(target=lambda: found.append(memory.get("key", slow)))
    first.start()
    assert started.wait(10)
    second = threading.Thread(target=lambda: found.append(memory.get("key", lambda: 2)))
    second.start()
    second.join(0.2)
    assert found == []  # it waits
    finish.set()
    first.join()
    second.join()
    assert found == [1, 1]


def test_who_waited_for_an_error_computes_it() -> None:
    memory: Memory[int] = Memory(2)
    started, finish = threading.Event(), threading.Event()
    found: list[int] = []

    def fails() -> int:
        started.set()
        assert finish.wait(10)
        raise ValueError("stopped")

    def ask() -> None:
        with pytest.raises(ValueError, match="stopped"):
            memory.get("key", fails)

    first = threading.Thread(target=ask)
    first.start()
    assert started.wait(10)
    second = threading.Thread(target=lambda: found.append(memory.get("key", lambda: 2)))
    second.start()
    finish.set()
    first.join()
    second.join()
    assert found == [2]
