"""Variants of the compiled library."""

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import pytest

from core.native import library


def build(name: str) -> Any:
    """A compiled library; skips the test if there is none for this processor."""
    path = Path(library.__file__).with_name(library.VARIANTS[name] + EXTENSION_SUFFIXES[0])
    capabilities = list(library.VARIANTS)
    if library.capability() not in capabilities[: capabilities.index(name) + 1] or not path.exists():
        pytest.skip(f"{name} is not compiled, or this processor does not have it")
    return library.load(path)
