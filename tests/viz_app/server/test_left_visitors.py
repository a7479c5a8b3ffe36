"""Sessions of visitors who have left: kept for a while, and ended first where there is no room."""

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from tests.event_loop import run_alone
from viz_app.server import left_visitors
from viz_app.server.left_visitors import LeftVisitors


def left(storage: LeftVisitors, *names: str) -> list[Any]:
    """Sessions of visitors who leave, one after the other."""
    sessions = [SimpleNamespace(id=name, ended=threading.Event()) for name in names]
    for session in sessions:
        session.shutdown = session.ended.set
        storage.save(SimpleNamespace(session=session))  # type: ignore[arg-type]
    return sessions


def ended(sessions: list[Any]) -> list[bool]:
    return [session.ended.is_set() for session in sessions]


@pytest.fixture(autouse=True)
def returned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How often memory was returned to the system."""
    times: list[str] = []
    monkeypatch.setattr("core.files.process_memory.return_freed_memory", lambda: times.append(""))
    return times


def test_who_comes_back_in_time_goes_on_and_the_others_end(returned: list[str]) -> None:
    async def run() -> None:
        storage = LeftVisitors(asyncio.get_running_loop(), grace=0.05)
        sessions = left(storage, "a", "b", "c")
        found = storage.get("b")
        assert found is not None
        assert found.session is sessions[1]
        storage.delete("b")
        await asyncio.sleep(0.2)
        assert ended(sessions) == [True, False, True]
        assert storage.list() == []
        assert storage.get("a") is None
        await asyncio.sleep(1.2)

    run_alone(run())
    assert returned == [""], "once for all who left together"


def test_who_has_been_gone_longest_makes_room_first() -> None:
    async def run() -> None:
        storage = LeftVisitors(asyncio.get_running_loop())
        sessions = left(storage, "a", "b")
        for expected in ([True, False], [True, True], None):
            assert await asyncio.to_thread(storage.end_first) == (expected is not None)
            assert expected in (None, ended(sessions))

    run_alone(run())


def test_the_number_of_kept_sessions_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(left_visitors, "MOST", 2)

    async def run() -> None:
        assert ended(left(LeftVisitors(asyncio.get_running_loop()), "a", "b", "c")) == [True, False, False]

    run_alone(run())
