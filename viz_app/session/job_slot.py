"""The session's place for one long measurement at a time."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from viz_app.session.jobs import Job
from viz_app.session.state import MayHoldModel


class HasJob(Protocol):
    """A result with the job that computes it."""

    job: Job


T = TypeVar("T", bound=HasJob)


@dataclass
class JobSlot(MayHoldModel, Generic[T]):
    """The session's last measurement of a kind; each kind is a subclass.

    Attributes:
        identity: of what is measured.
        measured: None before the first one.
    """

    identity: Hashable = None
    measured: T | None = None

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
