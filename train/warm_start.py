"""Parameters that a run begins with: those of a checkpoint, to go on from a lost run or to learn from other text."""

import hashlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from core.checkpoint import load_checkpoint
from core.config import TransformerConfig
from core.tokenizer import SentencePieceTokenizer

# of what the checkpoint says of its own training
KEPT = ("preset", "command", "commit", "steps", "hours", "date", "init")


@dataclass(frozen=True)
class Initial:
    """A checkpoint to begin with.

    Attributes:
        parameters: as `Transformer.load_state_dict` takes them. The optimizer and the schedule begin anew.
        facts: the file's name and hash, and how it was trained.
    """

    parameters: dict[str, Tensor]
    facts: dict[str, Any]

    @classmethod
    def read(cls, path: Path, config: TransformerConfig, tokenizer: SentencePieceTokenizer) -> "Initial":
        """Read a checkpoint for a run of this shape on data of this vocabulary. Dropout may be another.

        Raises:
            ValueError: the checkpoint has another shape or vocabulary.
            CheckpointError: it cannot be read.
            FileNotFoundError: there is no such file.
        """
        checkpoint = load_checkpoint(path)
        found, wanted = asdict(replace(checkpoint.config, dropout=config.dropout)), asdict(config)
        differing = [f"{name} ({found[name]}, not {value})" for name, value in wanted.items() if found[name] != value]
        if differing:
            raise ValueError(
                f"{path} has another {', '.join(differing)} than the preset: begin with a checkpoint of its shape, or "
                f"with none"
            )
        if checkpoint.tokenizer.to_bytes() != tokenizer.to_bytes():
            raise ValueError(f"{path} has another tokenizer than the data: prepare them with --tokenizer {path}")
        facts = {name: checkpoint.training[name] for name in KEPT if name in checkpoint.training}
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return cls(checkpoint.model.state_dict(), {"file": path.name, "sha256": digest, **facts})
