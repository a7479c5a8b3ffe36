"""Long computations that a visitor can stop and continue, and the session's place for one at a time."""

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from viz_app.session.state import MayHoldModel
from viz_app.session.turns import turn_of_long

SHORT = 80  # tokens of source and target together up to which the measurement of a sentence starts by itself


class Job:
    """A computation in steps, of which every run of a page computes a few; between two runs, clicks are answered.

    Args:
        steps: computes some parts and yields their number; it keeps the results itself. A `ValueError` ends the job.
        total: number of parts.
        unit: name of the parts, in the plural, for the progress bar: English, or a function that translates it.
        running: whether the page should continue the job by itself.

    Attributes:
        done: number of parts computed so far.
        finished: whether `steps` is exhausted.
        error: message of the `ValueError` that ended the job, or "".
    """

    def __init__(self, steps: Iterator[int], total: int, unit: str | Callable[[], str], running: bool = True) -> None:
        self.total, self.unit, self.running = total, unit, running
        self.done, self.finished, self.error = 0, False, ""
        self._steps, self._lock = steps, threading.Lock()

    def set_running(self, running: bool) -> None:
        """Stop the job, or continue it."""
        self.running = running

    def close(self) -> None:
        """End the job for good, and drop all objects that its steps hold, such as a model."""
        with self._lock:
            self.running, self._steps = False, iter(())

    def advance(self, seconds: float) -> bool:
        """Compute for some seconds, one step at least, and return whether steps are left.

        Two threads may call it at once, since Streamlit starts the next run of a page while an interrupted one is still
        inside a step: the second one waits. Jobs of other visitors wait, too, and passes of other pages go first.
        """
        with turn_of_long(), self._lock:  # in this order: an earlier run may wait for the turn that this one has
            end = time.monotonic() + seconds
            try:
                while not self.finished and not self.error:
                    self.done += next(self._steps)
                    if self.done < self.total and time.monotonic() >= end:
                        return True
            except StopIteration:
                self.finished = True
            except ValueError as error:
                self.error = str(error)
            self.running = False
            return False


class HasJob(Protocol):
    """A result with the job that computes it."""

    job: Job


T = TypeVar("T", bound=HasJob)


@dataclass
class JobSlot(MayHoldModel, Generic[T]):
    """The session's last measurement of a kind; each kind is a subclass."""

    identity: Hashable = None  # of what is measured
    measured: T | None = None  # none before the first one

    def of(self, identity: Hashable, begin: Callable[[], T]) -> T:
        """Return the measurement of something, begun unless it is the last one.

        Raises:
            ValueError: as `begin`; the last one is kept.
        """
        if self.measured is None or self.identity != identity:
            self.measured = begin()
            self.identity = identity
        return self.measured

    def close(self) -> None:
        """Drop the measurement and end its job."""
        if self.measured is not None:
            self.measured.job.close()
        self.identity = self.measured = None

    def forget_model(self, digest: str) -> None:
        """Drop the measurement, which may be of a model that is closed."""
        self.close()
