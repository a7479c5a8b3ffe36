"""Progress of an import, reported by `Weights.read`, which reads every tensor, so that formats need not pass it on."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

Progress = Callable[[float], object]  # called with the share of the weights that has been read, from 0 to 1


@dataclass
class _Count:
    report: Progress
    elements: int = 0


_count: ContextVar[_Count | None] = ContextVar("_count", default=None)


@contextmanager
def reporting(progress: Progress | None) -> Generator[None]:
    """Report the reading done by this thread inside the block."""
    token = _count.set(None if progress is None else _Count(progress))
    try:
        yield
    finally:
        _count.reset(token)


def advance(elements: int, total: int) -> None:
    """Count elements about to be read, of the total of a file; those of tied matrices may be read twice."""
    if (count := _count.get()) is not None:
        count.report(min(count.elements / max(total, 1), 1.0))
        count.elements += elements
