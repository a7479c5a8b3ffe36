"""Worker processes that translate batches, each with its own model."""

import multiprocessing
import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from core.cli.file_translation.engine import Engine, Hypotheses, TranslateBatches
from core.cli.file_translation.interrupt import SIGNALS

START_METHOD = "spawn"  # a fork of a process that has computed with threads can hang


@contextmanager
def worker_pool(engine: Engine, num_workers: int) -> Generator[TranslateBatches]:
    """Start worker processes, and kill them on leaving the block.

    If this process is killed, the pipes break and the workers exit.

    Raises:
        ChildProcessError: inside the block, if a worker died.
        Exception: inside the block, any exception of the translation of a batch.
    """
    context = multiprocessing.get_context(START_METHOD)
    workers: dict[Connection, BaseProcess] = {}
    resource_tracker.ensure_running()  # otherwise the first start does it, and unblocks the signals
    try:
        with _blocked_signals():  # inherited by the workers: Ctrl-C reaches them too, but only this process handles it
            for _ in range(num_workers):
                ours, theirs = context.Pipe()
                workers[ours] = context.Process(target=_serve, args=(theirs, engine), daemon=True)
                workers[ours].start()
                theirs.close()
        yield lambda batches: _translate_batches(workers, batches)
    finally:
        for worker in workers.values():
            worker.kill()
        for connection, worker in workers.items():
            worker.join()
            connection.close()


def _translate_batches(
    workers: dict[Connection, BaseProcess], batches: Iterator[list[str]]
) -> Iterator[tuple[int, list[Hypotheses]]]:
    """A `TranslateBatches` with one batch per worker at a time, so that pipes cannot fill up."""
    numbered = enumerate(batches)
    idle, busy = list(workers), dict[Connection, int]()
    while True:
        while idle and (item := next(numbered, None)) is not None:
            connection = idle.pop()
            busy[connection], texts = item
            with _expected_alive(workers[connection]):
                connection.send(texts)
        if not busy:
            return
        for connection in wait(list(busy)):
            assert isinstance(connection, Connection)
            with _expected_alive(workers[connection]):
                answer: list[Hypotheses] | Exception = connection.recv()
            if isinstance(answer, Exception):
                raise answer
            idle.append(connection)
            yield busy.pop(connection), answer


@contextmanager
def _expected_alive(worker: BaseProcess) -> Generator[None]:
    try:
        yield
    except (EOFError, ConnectionError) as error:
        worker.join()
        code = worker.exitcode or 0
        cause = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        advice = "if memory ran out, use fewer --workers"
        raise ChildProcessError(f"worker process {worker.pid} died ({cause}): {advice}") from error


def _serve(connection: Connection, engine: Engine) -> None:
    """Translate batches until the other end of the pipe is closed."""
    translate = engine.load()
    with suppress(EOFError, ConnectionError):
        while True:
            texts: list[str] = connection.recv()
            try:
                answer = translate(texts)
            except Exception as error:  # handled by the other process
                answer = error
            connection.send(answer)


@contextmanager
def _blocked_signals() -> Generator[None]:
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
