"""Translation on a Ray cluster, with Ray Data.

Needs Ray (`pip install 'ray[data]'`, the extra `ray`) here and on every node. Nodes need no shared files: the
checkpoint and the lines travel through Ray's object store, which spills to the disk if memory is short.
"""

import logging
import os
import re
import socket
import tempfile
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from core.cli.file_translation.engine import Engine
from core.cli.file_translation.interrupt import stop_on_signals
from core.cli.file_translation.lines import LineWindow
from core.cli.file_translation.windows import TranslatedLines, translate_windows
from core.files.extras import needs
from core.translator import Translator

CONNECTION_SECONDS = 10.0


def translate_on_ray(
    address: str, windows: Iterator[LineWindow], engine: Engine, num_workers: int | None = None
) -> Iterator[TranslatedLines]:
    """Translate windows, in their order, on the cluster at `HOST:PORT` or, with `auto`, on this machine.

    A window is one block of the dataset; by default there are as many worker processes, of `engine.threads` cores each,
    as the cluster's cores allow.

    Raises:
        MissingPackageError: Ray is not installed.
        ValueError: the address is malformed.
        ConnectionError: there is no cluster at this address.
        ChildProcessError: the cluster failed, after Ray's own retries.
    """
    with _connection(address) as ray:
        import pyarrow as pa

        checkpoint = ray.put(engine.checkpoint.read_bytes())
        read: deque[tuple[int, int, str]] = deque()  # start, number of lines and digest of windows not yet translated
        blocks: list[Any] = []
        for window in windows:
            read.append((window.start, len(window.lines), window.digest))
            blocks.append(ray.put(pa.table({"start": [window.start], "lines": [list(window.lines)]})))
        if not blocks:
            return
        cores = int(ray.cluster_resources().get("CPU", 1))
        translated = ray.data.from_arrow_refs(blocks).map_batches(
            _BlockTranslator,
            fn_constructor_args=(engine, [checkpoint]),
            batch_size=None,
            batch_format="pyarrow",
            num_cpus=engine.threads,
            compute=ray.data.ActorPoolStrategy(size=min(num_workers or max(1, cores // engine.threads), len(blocks))),
        )
        try:
            for row in translated.iter_rows():
                start, num_lines, digest = read.popleft()
                yield TranslatedLines(
                    LineWindow(start, (b"",) * num_lines, digest), row["translations"], row["problems"]
                )
        except ray.exceptions.RayError as error:
            raise ChildProcessError(f"the Ray cluster at {address} failed: {error}") from error


class _BlockTranslator:
    """Ray actor that translates blocks with one row per window."""

    def __init__(self, engine: Engine, checkpoint: list[Any]) -> None:
        import ray  # pyright: ignore[reportMissingImports]

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / engine.checkpoint.name
            path.write_bytes(ray.get(checkpoint[0]))
            self._translator = Translator.from_checkpoint(path, precision=engine.precision)
        self._engine = engine
        torch.set_num_threads(engine.threads)

    def __call__(self, block: Any) -> Any:
        """Translate a `pyarrow.Table` of the lines of windows."""
        import pyarrow as pa

        windows = (LineWindow(row["start"], tuple(row["lines"]), "") for row in block.to_pylist())
        parts = list(translate_windows(windows, self._translator, self._engine.in_this_process(self._translator)))
        return pa.table(
            {
                "translations": pa.array([part.lines for part in parts], pa.list_(pa.string())),
                "problems": pa.array([part.problems for part in parts], pa.list_(pa.string())),
            }
        )


@contextmanager
def _connection(address: str) -> Generator[Any]:
    """Ray, connected and silent, as standard output is for translations."""
    require_cluster(address)
    import ray  # pyright: ignore[reportMissingImports]
    import ray.data  # pyright: ignore[reportMissingImports]

    ray.init(address=address, log_to_driver=False, logging_level=logging.WARNING)
    try:
        context = ray.data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.WARNING)
        with stop_on_signals():  # `ray.init` has handlers of its own
            yield ray
    finally:
        ray.shutdown()


def require_cluster(address: str) -> None:
    """Check that Ray is installed and that an address answers, within seconds; Ray itself would retry for minutes.

    Raises:
        MissingPackageError: Ray is not installed.
        ValueError: the address is malformed.
        ConnectionError: there is no cluster at this address; with `auto` Ray itself looks for one.
    """
    if address != "auto":  # for which Ray looks itself, and says if there is none
        _connect(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with needs("ray", "--ray"):
        import_module("ray.data")


def _connect(address: str) -> None:
    host, _, port = address.rpartition(":")
    # Ports are compared here, as getaddrinfo takes a larger one modulo 65,536.
    if not host or re.fullmatch("[0-9]{1,5}", port) is None or not 0 < int(port) < 2**16:
        raise ValueError(f"--ray ({address:.60}) must be HOST:PORT, with a port from 1 to 65535, or auto")
    try:
        socket.create_connection((host, int(port)), timeout=CONNECTION_SECONDS).close()
    except OSError as error:
        advice = "start one with `ray start --head`, or correct the address"
        raise ConnectionError(f"there is no Ray cluster at {address} ({error}): {advice}") from error
