"""Input and options of a prepared folder, which must be the same when `prepare` is repeated."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from core.files.number_range import NumberRange
from core.files.strict_json import read_json
from core.text.text_normalization import VERSION
from train.data.filters import Filters
from train.data.parallel_text import ParallelText
from train.data.synthetic_pairs import Synthesis
from train.data.token_shards import MANIFEST, DataError

SETTINGS = "settings.json"  # the input and options of a finished folder
BPE_DROPOUTS = NumberRange(float, 0, 1, below=True)
SEGMENTATIONS = NumberRange(int, 1, 1_000)


@dataclass(frozen=True)
class Segmentation:
    """How training text is cut into pieces.

    Raises:
        ValueError: one of them is out of range.
    """

    bpe_dropout: float = 0.0  # probability with which each merge is left out (Provilkov et al. 2020); 0: none
    segmentations: int = 1  # how often an epoch has each pair, each time in other pieces; 1 without `bpe_dropout`

    def __post_init__(self) -> None:
        BPE_DROPOUTS.check("bpe_dropout", self.bpe_dropout)
        SEGMENTATIONS.check("segmentations", self.segmentations)
        if self.segmentations > 1 and not self.bpe_dropout:
            raise DataError(
                f"--segmentations ({self.segmentations}) must be 1 without --bpe-dropout, which makes them differ"
            )


@dataclass(frozen=True)
class Preparation:
    """What to prepare, and how."""

    train: ParallelText  # training text
    valid: ParallelText  # validation text, not part of `train`; only pairs with an empty side are left out
    vocab_size: int  # pieces of the joint vocabulary; ignored with a `tokenizer`
    tokenizer: Path | None = None  # a SentencePiece model, or a checkpoint with one, to use instead of learning one
    labels: Path | None = None  # a file with one label for each training pair, such as its origin
    # how often the pairs of a label occur in an epoch, by default once; 0 leaves them out
    repeat: dict[str, int] = field(default_factory=dict[str, int])
    filters: Filters = field(default_factory=Filters)  # conditions for leaving out training pairs
    # how the training text is cut into pieces, by default once and without dropout
    segmentation: Segmentation = field(default_factory=Segmentation)
    synthesis: Synthesis = field(default_factory=Synthesis)  # pairs made by rule, by default none
    symbols: Sequence[str] = ()  # strings that become one piece each; see `SentencePieceTokenizer.train`

    def request(self) -> dict[str, Any]:
        """Return the files and options that must be the same when an interrupted `prepare` is resumed."""
        files = [
            (str(path), path.stat().st_size, path.stat().st_mtime_ns)
            for text in (self.train, self.valid)
            for path in text.files
            if path.exists()
        ]
        options = self.vocab_size, self.tokenizer, self.labels, self.repeat, self.filters
        made = self.segmentation, self.synthesis
        return {
            "files": files,
            "languages": self.train.languages,
            "options": [str(option) for option in (*options, *made, *self.symbols)],
            "text_normalization": VERSION,
        }

    def settings(self) -> dict[str, Any]:
        """Return the content of settings.json, without folders and dates, so that a copied folder has the same."""
        return {
            "files": [path.name for path in self.train.files],
            "bytes": _sizes(self.train.files),
            "valid_files": [path.name for path in self.valid.files],
            "valid_bytes": _sizes(self.valid.files),
            "languages": list(self.train.languages) if self.train.languages else None,
            **({} if self.tokenizer else {"vocab_size": self.vocab_size}),
            "tokenizer": self.tokenizer.name if self.tokenizer else "learned from the training text",
            "labels": self.labels.name if self.labels else None,
            "repeat": self.repeat,
            **asdict(self.filters),
            **asdict(self.segmentation),
            **asdict(self.synthesis),
            "symbols": list(self.symbols),
            "text_normalization": VERSION,
        }


def _sizes(files: Sequence[Path]) -> list[int | None]:
    return [path.stat().st_size if path.is_file() else None for path in files]


def require_same_settings(folder: Path, settings: dict[str, Any]) -> None:
    """Check that a finished folder has these settings; older folders have only some of them, in the manifest.

    Raises:
        DataError: the folder was prepared from other text or with other settings.
    """
    if not (folder / MANIFEST).exists():
        return
    # of folders that do not name them
    existing: dict[str, Any] = {**asdict(Segmentation()), **asdict(Synthesis()), "text_normalization": 0}
    for name in (MANIFEST, SETTINGS):
        if (folder / name).exists():
            try:
                existing |= read_json(folder / name)
            except ValueError as error:
                raise DataError(f"{error}; give another folder, or --overwrite to replace it") from error
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
