"""Measurements that end in one run of the page."""

import pytest

from viz_app.controls import job_control


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_control, "TURN", 60.0)
