"""The session's place for one long measurement."""

from dataclasses import dataclass

import pytest

from viz_app.session.job_slot import JobSlot
from viz_app.session.jobs import Job


@dataclass
class Measured:
    name: str
    job: Job


def begun(name: str) -> Measured:
    return Measured(name, Job(iter([1, 1]), 2, "parts"))


def refused() -> Measured:
    raise ValueError("cannot be measured")


def test_a_measurement_is_begun_once_and_dropped_with_its_model() -> None:
    slot = JobSlot[Measured]()
    first = slot.of("a", lambda: begun("a"))
    assert slot.of("a", refused) is first
    with pytest.raises(ValueError, match="cannot be measured"):
        slot.of("b", refused)
    assert slot.of("a", refused) is first
    assert slot.of("b", lambda: begun("b")).name == "b"
    second = slot.measured
    assert second is not None
    slot.forget_model("any")
    assert not second.job.running
    assert slot.measured is None
