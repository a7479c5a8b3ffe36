"""Variants of the compiled library."""

from typing import Any

import pytest

from core.native import library


def build(name: str) -> Any:
    """A compiled library; skips the test if there is none for this processor."""
    path = library.compiled_file(name)
    capabilities = list(library.VARIANTS)
    if library.capability() not in capabilities[: capabilities.index(name) + 1] or not path.exists():
        pytest.skip(f"{name} is not compiled, or this processor does not have it")
    return library.load(path)
