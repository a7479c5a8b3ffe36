"""Checkpoints, one format a module: our own (`checkpoint`), and those of other projects, see docs/formats.md."""

from typing import Any


def __getattr__(name: str) -> Any:
    """Import `import_checkpoint` when it is used: reading our own checkpoints needs no other format."""
    if name == "import_checkpoint":
        from core.formats.importing import import_checkpoint

        return import_checkpoint
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
