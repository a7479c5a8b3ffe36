"""Warm start: a run from the parameters of a checkpoint (`fit --init`)."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from core.files.file_writing import file_digest
from core.formats.checkpoint import load_checkpoint
from core.model import Transformer
from core.model.config import TransformerConfig
from core.model.training import EMBEDDING
from core.text.tokenizer import SentencePieceTokenizer, Tokenizer
from train.snapshot_checksum import check_checksum

# training facts of the checkpoint that the new run records
FACTS = "preset", "command", "commit", "steps", "recipe", "hours", "hardware", "date", "init", "averaged", "stored_as"


def recorded(training: dict[str, Any]) -> dict[str, Any]:
    """Return the training facts of a checkpoint that another one, which goes back to it, records."""
    return {name: training[name] for name in FACTS if name in training}


@dataclass(frozen=True)
class Initial:
    """The checkpoint that a run starts from; the optimizer and the schedule start afresh."""

    parameters: dict[str, Tensor]  # a state dict of the checkpoint's model
    facts: dict[str, Any]  # the file's name, its SHA-256 and its training facts
    # (shared, 2) token ids of the pieces that both vocabularies have: in the run and in the checkpoint. None where the
    # vocabularies are the same.
    shared: Tensor | None = None

    @classmethod
    def read(cls, path: Path, config: TransformerConfig, tokenizer: SentencePieceTokenizer) -> "Initial":
        """Read a checkpoint for a run with this configuration and tokenizer.

        Dropout and vocabulary may differ, and a model without causal mask may start from one with it.

        Raises:
            ValueError: the checkpoint has another configuration.
            CheckpointError: it cannot be read.
            FileNotFoundError: there is no such file.
        """
        check_checksum(path)
        checkpoint = load_checkpoint(path)
        actual, wanted = asdict(checkpoint.config), asdict(config)
        differing = [
            f"{name} ({actual[name]}, not {value})"
            for name, value in wanted.items()
            if actual[name] != value
            and name not in ("dropout", "vocab_size")
            and not (name == "mask_id" and checkpoint.config.autoregressive)
        ]
        if differing:
            raise ValueError(
                f"{path} differs from the preset in {', '.join(differing)}: start from a checkpoint with the preset's "
                f"shape, or without --init"
            )
        facts = recorded(checkpoint.training)
        facts |= {"file": path.name, "sha256": file_digest(path)}
        shared = None
        if checkpoint.tokenizer.to_bytes() != tokenizer.to_bytes():
            shared = _shared_pieces(tokenizer, checkpoint.tokenizer)
            facts["shared_pieces"] = len(shared)
        return cls(checkpoint.model.state_dict(), facts, shared)

    def load_into(self, model: Transformer) -> None:
        """Set the parameters of a model.

        Those that the checkpoint lacks keep their values. With another vocabulary, pieces that the checkpoint has too
        take its embeddings, and the others keep theirs (transfer of a parent model with a shared vocabulary: Zoph et
        al. 2016, Nguyen and Chiang 2017).
        """
        parameters = {**model.state_dict(), **self.parameters}
        if self.shared is not None:
            rows, sources = self.shared.unbind(dim=1)
            embedding = model.state_dict()[EMBEDDING].clone()
            embedding[rows] = parameters[EMBEDDING][sources].to(embedding)
            parameters[EMBEDDING] = embedding
        model.load_state_dict(parameters)

    def note(self, vocab_size: int) -> str:
        """Return a line on embeddings that are not from the checkpoint, or nothing."""
        if self.shared is None:
            return ""
        return (
            f"{self.facts['file']} has another vocabulary: {len(self.shared)} of {vocab_size} pieces start with its "
            f"embeddings, the others with random ones"
        )


def _shared_pieces(tokenizer: SentencePieceTokenizer, parent: Tokenizer) -> Tensor:
    """Return (shared, 2) token ids of the pieces that two vocabularies share."""
    token_ids = {parent.piece(token_id): token_id for token_id in range(parent.vocab_size)}
    pieces = [tokenizer.piece(token_id) for token_id in range(tokenizer.vocab_size)]
    return torch.tensor([(row, token_ids[piece]) for row, piece in enumerate(pieces) if piece in token_ids])
