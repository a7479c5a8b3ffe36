"""Sides of a benchmark in a process each, which take turns, so that other load on the machine affects all alike."""

import multiprocessing
import statistics
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any

Serve = Callable[[Any, Connection], None]


@contextmanager
def processes(serve: Serve, works: Mapping[str, Any]) -> Generator[dict[str, Connection]]:
    """Start a process for each side that runs `serve(work, connection)`, both picklable.

    `serve` receives messages until None, which is sent at the end of the block.

    Yields:
        This end of each side's connection. Receiving from a failed process raises EOFError.
    """
    context = multiprocessing.get_context("spawn")
    connections: dict[str, Connection] = {}
    for side, work in works.items():
        connections[side], theirs = context.Pipe()
        context.Process(target=serve, args=(work, theirs), daemon=True).start()
        theirs.close()  # so that recv raises if the process fails
    try:
        yield connections
    finally:
        for connection in connections.values():
            with suppress(OSError):
                connection.send(None)


def take(connections: Mapping[str, Connection], messages: Mapping[str, Any], rounds: int) -> dict[str, list[Any]]:
    """Send each side its message `rounds` times, in turn; return the answers of each side, turn by turn."""
    answers: dict[str, list[Any]] = {side: [] for side in messages}
    for _ in range(rounds):
        for side, message in messages.items():
            connections[side].send(message)
            answers[side].append(connections[side].recv())
    return answers


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """The median and the range, such as `2.11 (1.96 to 2.20)`."""
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"
