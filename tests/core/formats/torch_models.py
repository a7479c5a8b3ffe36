"""Random encoder-decoders around `torch.nn.Transformer`, the reference of several formats."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.core.formats.marian_models import sentencepiece_model

Pairs = Sequence[tuple[str, str]]
ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "swish": F.silu}


class Embedding(nn.Module):
    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(size, width)


class Seq2Seq(nn.Module):
    """A Transformer with embeddings and output projection, named as in PyTorch's tutorial on translation.

    Args:
        tied: the source's embedding is the target's and the output projection, too.
        final_norm: the norms after the last layers, which torch.nn.Transformer always has.
    """

    def __init__(
        self,
        source_size: int,
        target_size: int,
        *,
        layers: tuple[int, int] = (1, 1),
        norm_first: bool = False,
        activation: str = "relu",
        eps: float = 1e-5,
        tied: bool = False,
        final_norm: bool = True,
        concatenated: bool = False,
        bias: bool = True,
    ) -> None:
        super().__init__()
        torch.manual_seed(0)
        norms = {"layer_norm_eps": eps, "norm_first": norm_first}
        self.transformer = nn.Transformer(32, 4, *layers, 64, 0.0, ACTIVATIONS[activation], batch_first=True, **norms)
        if not final_norm:
            self.transformer.encoder.norm = self.transformer.decoder.norm = None
        self.src_tok_emb, self.tgt_tok_emb = Embedding(source_size, 32), Embedding(target_size, 32)
        self.generator = nn.Linear(32, target_size, bias)
        if tied:
            self.tgt_tok_emb = self.src_tok_emb
            self.generator.weight = self.src_tok_emb.embedding.weight
        self.concatenated = concatenated
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.2)
        self.eval()

    def positions(self, number: int) -> Tensor:
        """[number, 32], the paper's or those of Tensor2Tensor."""
        rates = 10000 ** (-torch.arange(16) / (15 if self.concatenated else 16))
        angles = torch.arange(number)[:, None] * rates
        sines, cosines = angles.sin(), angles.cos()
        return torch.cat((sines, cosines), 1) if self.concatenated else torch.stack((sines, cosines), 2).flatten(1)

    def embed(self, embedding: Embedding, ids: Tensor) -> Tensor:
        return embedding.embedding(ids) * math.sqrt(32) + self.positions(ids.size(1))

    @torch.inference_mode()
    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(target.size(1))
        states = self.transformer(
            self.embed(self.src_tok_emb, source), self.embed(self.tgt_tok_emb, target), tgt_mask=mask
        )
        return self.generator(states)


def subwords(folder: Path, pairs: Pairs, special: Sequence[str], together: bool = False) -> tuple[list[str], list[str]]:
    """Write source.model and target.model, or both.model, and return the pieces of both sides, `special` first."""
    sides: list[list[str]] = []
    for number, name in enumerate(["both.model"] if together else ["source.model", "target.model"]):
        lines = [text for pair in pairs for text in (pair if together else [pair[number]])]
        (folder / name).write_bytes(sentencepiece_model(lines))
        processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / name))
        pieces = [processor.id_to_piece(token_id) for token_id in range(3, processor.vocab_size())]
        sides.append([*special, *pieces])
    return sides[0], sides[-1]


def write_torch(folder: Path, pairs: Pairs, options: dict[str, Any] | None = None, **shape: Any) -> Seq2Seq:
    """Write config.json, model.pt, and SentencePiece models with lists of pieces."""
    folder.mkdir(exist_ok=True)
    sides = subwords(folder, pairs, ("<unk>", "<pad>", "<s>", "</s>"), shape.get("tied", False))
    for name, pieces in zip(("source", "target"), sides, strict=True):
        (folder / f"{name}_vocab.txt").write_text("\n".join(pieces) + "\n")
    model = Seq2Seq(len(sides[0]), len(sides[1]), **shape)
    torch.save(model.state_dict(), folder / "model.pt")
    known = {
        "model_type": "torch.nn.Transformer",
        "nhead": 4,
        "norm_first": shape.get("norm_first", False),
        "activation": shape.get("activation", "relu"),
        "layer_norm_eps": shape.get("eps", 1e-5),
    }
    (folder / "config.json").write_text(json.dumps(known | (options or {})))
    return model
