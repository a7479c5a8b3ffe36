"""Prefetching of batches in a thread, so that the device does not wait for them."""

import contextlib
import queue
import threading
from collections.abc import Iterator
from dataclasses import replace

import torch

from train.data.batches import Group

AHEAD = 4  # groups to prefetch


class Prefetched:
    """Context manager and iterator over groups on `device`.

    Its thread ends on exit. Iterating raises the errors of the thread.
    """

    def __init__(self, groups: Iterator[Group], device: torch.device) -> None:
        self._groups, self._device = groups, device
        self._ready: queue.Queue[Group | BaseException] = queue.Queue(maxsize=AHEAD)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._fill, name="batches", daemon=True)

    def __enter__(self) -> "Prefetched":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        with contextlib.suppress(queue.Empty):  # the thread may wait for room
            while True:
                self._ready.get_nowait()
        self._thread.join()

    def __iter__(self) -> Iterator[Group]:
        return self

    def __next__(self) -> Group:
        group = self._ready.get()
        if isinstance(group, BaseException):
            raise group
        return replace(group, batches=[batch.to(self._device) for batch in group.batches])

    def _fill(self) -> None:
        try:
            for group in self._groups:
                pinned = (
                    replace(group, batches=[batch.pin() for batch in group.batches])
                    if self._device.type == "cuda"
                    else group
                )
                if not self._put(pinned):
                    return
        except BaseException as error:  # raised again by __next__
            self._put(error)

    def _put(self, item: Group | BaseException) -> bool:
        """Put an item into the queue; False if the context is left."""
        self._ready.put(item)
        return not self._closed.is_set()
