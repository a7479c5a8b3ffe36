"""Input and options of a prepared folder.

A repeated `prepare` must have them in common with it.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from train.data.filters import Filters
from train.data.parallel_text import ParallelText
from train.data.token_shards import MANIFEST, DataError

SETTINGS = "settings.json"  # the input and options of a finished folder
MOST_SEGMENTATIONS = 1_000


@dataclass(frozen=True)
class Segmentation:
    """How training text is cut into pieces.

    Attributes:
        bpe_dropout: probability with which each merge is left out (Provilkov et al. 2020); 0: none.
        segmentations: how often an epoch has each pair, each time in other pieces; 1 without `bpe_dropout`.

    Raises:
        DataError: one of them is out of range.
    """

    bpe_dropout: float = 0.0
    segmentations: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.bpe_dropout < 1:
            raise DataError(f"--bpe-dropout must be at least 0 and below 1, found {self.bpe_dropout:g}")
        most = MOST_SEGMENTATIONS if self.bpe_dropout else 1
        if not 1 <= self.segmentations <= most:
            needed = "" if self.bpe_dropout else " without --bpe-dropout, which makes them differ"
            raise DataError(f"--segmentations must be from 1 to {most:,}{needed}, found {self.segmentations:,}")


def request_of(train: ParallelText, valid: ParallelText, *options: object) -> dict[str, Any]:
    """Return files and options that an interrupted `prepare` is resumed with.

    They must be the same.
    """
    files = [
        (str(path), path.stat().st_size, path.stat().st_mtime_ns)
        for text in (train, valid)
        for path in text.files
        if path.exists()
    ]
    return {"files": files, "languages": train.languages, "options": [str(option) for option in options]}


def settings_of(
    train: ParallelText,
    valid: ParallelText,
    vocab_size: int,
    tokenizer: Path | None,
    labels: Path | None,
    repeat: dict[str, int],
    filters: Filters,
    segmentation: Segmentation,
    symbols: Sequence[str],
) -> dict[str, Any]:
    """Return the content of settings.json.

    It has no folders and dates, so a copied folder has the same.
    """
    return {
        "files": [path.name for path in train.files],
        "bytes": _sizes(train.files),
        "valid_files": [path.name for path in valid.files],
        "valid_bytes": _sizes(valid.files),
        "languages": list(train.languages) if train.languages else None,
        **({} if tokenizer else {"vocab_size": vocab_size}),
        "tokenizer": tokenizer.name if tokenizer else "learned from the training text",
        "labels": labels.name if labels else None,
        "repeat": repeat,
        **asdict(filters),
        **asdict(segmentation),
        "symbols": list(symbols),
    }


def _sizes(files: Sequence[Path]) -> list[int | None]:
    return [path.stat().st_size if path.is_file() else None for path in files]


def require_same_settings(folder: Path, settings: dict[str, Any]) -> None:
    """Check that a finished folder has these settings.

    Older folders have only some of them, in the manifest.

    Raises:
        DataError: the folder was prepared from other text or with other settings.
    """
    if not (folder / MANIFEST).exists():
        return
    existing: dict[str, Any] = asdict(Segmentation())  # of folders that do not name it
    for name in (MANIFEST, SETTINGS):
        if (folder / name).exists():
            existing |= json.loads((folder / name).read_text(encoding="utf-8"))
    differing = [name for name in settings if name in existing and existing[name] != settings[name]]
    if differing:
        values = {
            name: f" ({_shown(existing[name])}, not {_shown(settings[name])})"
            for name in differing
            if name != "symbols"
        }
        named = ", ".join(name + values.get(name, "") for name in differing)
        raise DataError(
            f"{folder} holds text that was prepared with another {named}: give another folder, or --overwrite to "
            f"replace it"
        )


def _shown(value: Any) -> str:
    """Format a setting as on the command line."""
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, dict):
        return " ".join(f"{label}={times}" for label, times in value.items()) or "none"
    return "none" if value is None else str(value)
