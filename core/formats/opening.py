"""Untrusted sources that hold a checkpoint of Headlight or of another project."""

import hashlib
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import torch

from core.files.budget import MAX_HEADER_BYTES
from core.formats.checkpoint import Checkpoint, CheckpointError, check_header
from core.formats.source_files import SourceFiles, is_archive

SUFFIX = ".safetensors"
PACKED = SUFFIX + ".8bit", SUFFIX + ".8bit-difference"  # see `core.analysis.over_training.history`


def own_file(files: SourceFiles) -> Path | None:
    """Return the file of a source that `load_checkpoint` is to read, None for checkpoints of other projects.

    It is the checkpoint of Headlight among the files, recognised by content, or else the only file if it is a
    safetensors file, by its beginning or its name.

    Raises:
        CheckpointError: there are several checkpoints of Headlight, or it is a file of
            `core.analysis.over_training.history`.
    """
    if any(name.lower().endswith(PACKED) for name in files.names):
        raise CheckpointError(
            f"{files.label} has the snapshots of a training run, not one checkpoint: open it on the page Over training"
        )
    own = sorted(name for name in files.names if is_own(files.located(name)))
    if len(own) > 1:
        names = ", ".join(own[:3]) + (", ..." if own[3:] else "")
        raise CheckpointError(f"{files.label} has {len(own)} checkpoints of Headlight ({names}): open one of them")
    if not own and len(files.names) == 1:
        own = [name for name in files.names if name.lower().endswith(SUFFIX) or is_safetensors(files.located(name))]
    return files.path(own[0]) if own else None


def is_own(path: Path) -> bool:
    """Whether a file is a checkpoint of Headlight, by its header; what follows may be damaged."""
    if not is_safetensors(path):
        return False
    with open(path, "rb") as file:
        return begins_own(file)


def begins_own(file: IO[bytes]) -> bool:
    """Whether an open file begins like a checkpoint of Headlight."""
    length = int.from_bytes(file.read(8), "little")
    if not 2 <= length <= MAX_HEADER_BYTES:
        return False
    try:
        header = json.loads(file.read(length))
    except (ValueError, RecursionError):
        return False
    metadata = header.get("__metadata__") if isinstance(header, dict) else None
    return isinstance(metadata, dict) and "format_version" in metadata


def is_safetensors(path: Path) -> bool:
    """Whether a file begins like a safetensors file, whatever its name."""
    try:
        check_header(path)
    except (CheckpointError, OSError):
        return False
    return True


def is_openable(path: Path) -> bool:
    """Whether a file alone may be a checkpoint or an array file, by its beginning."""
    return is_safetensors(path) or zipfile.is_zipfile(path)


def as_sources(paths: Sequence[Path]) -> list[list[Path]]:
    """Group files given together: each archive and each checkpoint of Headlight is a source, the others are one."""
    alone = [path for path in paths if is_own(path) or is_archive(path)]
    others = [path for path in paths if path not in alone]
    return [[path] for path in alone] + ([others] if others else [])


def content_digest(checkpoint: Checkpoint) -> str:
    """SHA-256, in hexadecimal, of configuration, tokenizer and parameters.

    It is the same for a folder, an archive and single files of one model, whatever else they contain.
    """
    digest = hashlib.sha256(repr(checkpoint.config).encode())
    digest.update(checkpoint.tokenizer.to_bytes())
    for name, parameter in checkpoint.model.named_parameters():
        digest.update(name.encode())
        digest.update(parameter.detach().view(torch.uint8).numpy().data)
    return digest.hexdigest()
