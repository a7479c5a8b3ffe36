"""The app's number of threads, on machines and in containers of any size."""

import pytest

from viz_app.server.threads import MAX_THREADS, chosen_threads


@pytest.mark.parametrize(
    ("cores", "asked", "threads"),
    [
        (1, None, 1),
        (2, None, 1),  # the other one is the browser's
        (8, None, 4),
        (128, None, MAX_THREADS),
        (2, "1", 1),
        (8, "8", 8),
        (128, "6", 6),
        (2, "16", 2),  # threads that wait for one another on two cores
        (8, "3,1", 3),
        (8, "", 4),
        (8, "0", 4),
        (8, "many", 4),
    ],
)
def test_half_of_the_cores_is_the_browsers(cores: int, asked: str | None, threads: int) -> None:
    assert chosen_threads(cores, asked) == threads
