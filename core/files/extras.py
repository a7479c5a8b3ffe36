"""Packages that only some functions need: extras of the distribution bring them."""

from collections.abc import Iterator
from contextlib import contextmanager


class MissingPackageError(ImportError):
    """A package is not installed."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        """Say what needs the package, and which extra brings it."""
        super().__init__(f"{what} needs {package}, which is not installed: install Headlight with its extra `{extra}`")


@contextmanager
def needs(extra: str, what: str) -> Iterator[None]:
    """Import packages of an extra.

    Raises:
        MissingPackageError: one is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingPackageError(what, (error.name or "").partition(".")[0], extra) from error
