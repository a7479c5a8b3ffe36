"""Hooks on modules that are removed again."""

from collections.abc import Generator
from contextlib import contextmanager

from torch.utils.hooks import RemovableHandle


@contextmanager
def removed_hooks() -> Generator[list[RemovableHandle]]:
    """A list for handles of hooks, which are removed at the end of the block."""
    handles: list[RemovableHandle] = []
    try:
        yield handles
    finally:
        for handle in handles:
            handle.remove()
