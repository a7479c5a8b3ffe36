"""Warm start: a run that starts from the parameters of a checkpoint (`fit --init`)."""

import hashlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from core.checkpoint import load_checkpoint
from core.config import TransformerConfig
from core.tokenizer import SentencePieceTokenizer

# training facts of the checkpoint that the new run records
RECORDED = ("preset", "command", "commit", "steps", "hours", "hardware", "date", "init")


@dataclass(frozen=True)
class Initial:
    """The checkpoint that a run starts from. Optimizer and schedule start afresh.

    Attributes:
        parameters: a state dict for `Transformer.load_state_dict`.
        facts: the file's name, its SHA-256 and its training facts.
    """

    parameters: dict[str, Tensor]
    facts: dict[str, Any]

    @classmethod
    def read(cls, path: Path, config: TransformerConfig, tokenizer: SentencePieceTokenizer) -> "Initial":
        """Read a checkpoint for a run with this configuration and tokenizer. Only dropout may differ.

        Raises:
            ValueError: the checkpoint has another configuration or tokenizer.
            CheckpointError: it cannot be read.
            FileNotFoundError: there is no such file.
        """
        checkpoint = load_checkpoint(path)
        found, wanted = asdict(replace(checkpoint.config, dropout=config.dropout)), asdict(config)
        differing = [f"{name} ({found[name]}, not {value})" for name, value in wanted.items() if found[name] != value]
        if differing:
            raise ValueError(
                f"{path} differs from the preset in {', '.join(differing)}: start from a checkpoint with the preset's "
                f"shape, or without --init"
            )
        if checkpoint.tokenizer.to_bytes() != tokenizer.to_bytes():
            raise ValueError(f"{path} has another tokenizer than the data: prepare them with --tokenizer {path}")
        facts = {name: checkpoint.training[name] for name in RECORDED if name in checkpoint.training}
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return cls(checkpoint.model.state_dict(), {"file": path.name, "sha256": digest, **facts})
