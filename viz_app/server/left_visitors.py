"""Sessions of visitors who have left: kept for who comes back, and ended first where others need the memory.

Streamlit's own storage drops a session after two minutes, but only when somebody else comes or leaves, and its memory
is free at the next search for garbage.
"""

import asyncio
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from streamlit import runtime
from streamlit.runtime.session_manager import SessionInfo, SessionStorage

from viz_app.session import model_memory

GRACE = 120.0  # seconds in which a visitor who comes back finds everything as it was
MOST = 128  # sessions that are kept
PATIENCE = 10.0  # seconds to wait for the server's thread


class LeftVisitors(SessionStorage):
    """The sessions without a connection, each for some time.

    All methods but `end_first` are for the thread of the event loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, grace: float = GRACE) -> None:
        self._loop, self._grace = loop, grace
        self._left: dict[str, SessionInfo] = {}  # who has been gone longest first
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._returning: asyncio.TimerHandle | None = None

    def save(self, session_info: SessionInfo) -> None:
        """Keep the session of a visitor who leaves."""
        session_id = session_info.session.id
        self._left[session_id] = session_info
        self._timers[session_id] = self._loop.call_later(self._grace, self._end, session_id)
        if len(self._left) > MOST:
            self._end(next(iter(self._left)))

    def get(self, session_id: str) -> SessionInfo | None:
        """Return the session of a visitor who comes back; None if it has ended."""
        return self._left.get(session_id)

    def delete(self, session_id: str) -> None:
        """Forget a session, which goes on or has been ended."""
        del self._left[session_id]
        self._timers.pop(session_id).cancel()

    def list(self) -> "list[SessionInfo]":
        """Return all sessions, who has been gone longest first."""
        return [*self._left.values()]

    def end_first(self) -> bool:
        """End the session of the visitor who has been gone longest; return whether there was one.

        For another thread than that of the event loop. The memory is free after `return_freed_memory`.
        """
        ended: Future[bool] = Future()

        def end() -> None:
            session_id = next(iter(self._left), None)
            if session_id is not None:
                self._end(session_id)
            ended.set_result(session_id is not None)

        self._loop.call_soon_threadsafe(end)
        with suppress(TimeoutError):
            return ended.result(PATIENCE)
        return False

    def _end(self, session_id: str) -> None:
        session = self._left[session_id].session
        self.delete(session_id)
        session.shutdown()
        if self._returning is None:  # once for all who leave together
            self._returning = self._loop.call_later(1.0, self._return_memory)

    def _return_memory(self) -> None:
        from core.files.process_memory import return_freed_memory

        self._returning = None
        self._loop.run_in_executor(None, return_freed_memory)


def keep_left_visitors() -> None:
    """Let the server keep the sessions of visitors who have left in a `LeftVisitors`; call it in its event loop."""
    if runtime.exists():
        left = LeftVisitors(asyncio.get_running_loop())
        instance: Any = runtime.get_instance()
        instance._session_mgr._session_storage = left
        model_memory.end_left_visitor = left.end_first
