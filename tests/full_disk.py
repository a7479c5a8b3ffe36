"""A disk that is full, for this process alone."""

import resource
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def no_file_over(size: int) -> Generator[None]:
    """Make every write past `size` bytes of a file fail, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
