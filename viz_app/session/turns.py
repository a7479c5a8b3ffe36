"""Turns of visitors: those who compute for long do so one at a time."""

import time
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from viz_app.session.state import session_object

if TYPE_CHECKING:  # torch takes a second to import: the page is drawn before
    from core.inference.fair_lock import FairLock


@dataclass
class _Computed:
    """Seconds of the processor that a visitor's runs have taken of late, and when the last one ended."""

    seconds: float = 0.0
    until: float = 0.0


@contextmanager
def own_turn() -> Generator[None]:
    """Compute for a visitor: at once, or in turn with others if it has taken long of late.

    So of visitors with long analyses, one at a time shares the processor and the interpreter with the others.
    """
    from core.inference.fair_lock import FORGOTTEN, LIGHT

    computed = session_object(_Computed)
    before = computed.seconds * 0.5 ** ((time.monotonic() - computed.until) / FORGOTTEN)
    with turn_of_long() if before > LIGHT else nullcontext():
        begun = time.thread_time()
        try:
            yield
        finally:
            computed.seconds, computed.until = before + time.thread_time() - begun, time.monotonic()


@contextmanager
def turn_of_long() -> Generator[None]:
    """Wait for other visitors who compute long: only one does at a time, and lets passes of other pages go first."""
    from core.inference.fair_lock import patient

    with _turn(), patient():
        yield


@cache
def _turn() -> "FairLock":
    from core.inference.fair_lock import FairLock

    return FairLock()
