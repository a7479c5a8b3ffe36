"""Checkpoints of other projects, see docs/formats.md. Each format has a module."""

from core.formats.importing import FORMATS, import_checkpoint

__all__ = ["FORMATS", "import_checkpoint"]
