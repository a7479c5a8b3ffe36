"""Two sides of a benchmark, a process each, that take turns: whatever else the machine does meets both alike."""

import multiprocessing
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from typing import Any

Serve = Callable[[str, Any, Connection], None]


def start(sides: Iterable[str], serve: Serve, work: Any) -> dict[str, Connection]:
    """Start a process for each side, which runs `serve(side, work, connection)`; both can be pickled.

    Returns:
        Our end of each side's connection. Where a process has failed, receiving from it raises EOFError.
    """
    context = multiprocessing.get_context("spawn")
    connections: dict[str, Connection] = {}
    for side in sides:
        connections[side], theirs = context.Pipe()
        context.Process(target=serve, args=(side, work, theirs), daemon=True).start()
        theirs.close()  # so that a process that fails ends the wait for it
    return connections


def take(connections: dict[str, Connection], rounds: int) -> dict[str, list[float]]:
    """Let each side do its work `rounds` times, one after the other, then end both.

    Returns:
        What each side answered, turn by turn.
    """
    answers: dict[str, list[float]] = {side: [] for side in connections}
    for _ in range(rounds):
        for side, connection in connections.items():
            connection.send(True)
            answers[side].append(connection.recv())
    for connection in connections.values():
        connection.send(False)
    return answers
