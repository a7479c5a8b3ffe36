"""Small models of transformers: the parts that their makers share."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from core.cli import commands as cli
from core.formats.checkpoint import Checkpoint, CheckpointError, load_checkpoint
from core.formats.importing import import_checkpoint
from core.model import Transformer
from core.results import Explanation, ScoredText
from core.translator import Translator

LEARNED = 9  # pairs that a model learns by heart; its tokenizer knows all
SHAPE = {  # one layer, where nothing depends on their number
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 64,
    "dropout": 0.0,
    "init_std": 0.2,
}


def assert_refused(source: Path | Sequence[Path], message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        import_checkpoint(source)


def assert_converted(source: Path, out: Path) -> Checkpoint:
    """`convert` writes the same model as is imported, which is returned as it is in the file."""
    assert cli.main(["convert", str(source), str(out)]) == 0
    found, again = import_checkpoint(source), load_checkpoint(out)
    assert (again.config, again.training) == (found.config, found.training)
    assert again.tokenizer.to_bytes() == found.tokenizer.to_bytes()
    assert all(torch.equal(again.model.get_parameter(name), each) for name, each in found.model.named_parameters())
    return again


def imported(source: Path | Sequence[Path]) -> Translator:
    found = import_checkpoint(source)
    return Translator(found.model, found.tokenizer, found.training)


@torch.inference_mode()
def assert_same_logits(model: Transformer, reference: Any, source_ids: Tensor, fed: Tensor, atol: float = 1e-4) -> None:
    """The logits are those of a model of transformers, which differ from each other."""
    expected = reference(source_ids, decoder_input_ids=fed, use_cache=False).logits
    torch.testing.assert_close(model(source_ids, fed), expected, rtol=0, atol=atol)
    assert expected.std() > 0.5


def explained(translator: Translator, text: str, **options: Any) -> tuple[ScoredText, Explanation]:
    """The translation of a text and its explanation, whose log-probabilities are those of the search."""
    best = translator.translate(text, **options).hypotheses[0]
    explanation = translator.explain(text, best.token_ids)
    assert explanation.log_probs[: len(best.token_ids)] == pytest.approx(best.token_log_probs, abs=1e-4)
    return best, explanation


def change_json(file: Path, values: dict[str, Any]) -> None:
    """Change values of an object in JSON, {} if there is no file; None removes one."""
    settings = (json.loads(file.read_text()) if file.exists() else {}) | values
    file.write_text(json.dumps(settings))


@torch.no_grad()
def vary_norms_and_biases(model: nn.Module) -> None:
    """Leave no gain of one and no bias of zero, which would hide a parameter that is not read."""
    for name, parameter in model.named_parameters():
        if "layer_norm" in name or name.endswith("bias"):
            parameter.add_(torch.randn_like(parameter), alpha=0.1)


def learn(model: nn.Module, loss: Callable[[], Tensor], steps: int, rate: float) -> None:
    optimizer = torch.optim.Adam([each for each in model.parameters() if each.requires_grad], lr=rate, fused=True)
    model.train()
    for _ in range(steps):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    model.eval()
