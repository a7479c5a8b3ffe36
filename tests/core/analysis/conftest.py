"""Models for analyses, of which no parameter is zero or one by initialisation, and their commands."""

import csv
import io
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import torch

from core.analysis.attribution.forward_trace import ForwardTrace, trace_forward
from core.cli.commands import main
from core.model import Transformer
from core.model.config import TransformerConfig
from core.text.tokenizer import SentencePieceTokenizer
from core.translator import Translator
from tests.core.tiny_models import LIKE_T5

SOURCE, TARGET = (
    "The old house on the hill was built 150 years ago.",
    "Das alte Haus auf dem Hügel wurde vor 150 Jahren gebaut.",
)
PRE_NORM = {"norm": "pre", "final_norm": True}
DOG = ("--text", "A dog runs.", "--target", "Ein Hund.")


class Command:
    """Runs a command on the tiny checkpoint, and returns the rows of the table; `said` is its standard error."""

    def __init__(self, checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.checkpoint, self.capsys, self.said = checkpoint, capsys, ""

    @cached_property
    def translator(self) -> Translator:
        return Translator.from_checkpoint(self.checkpoint)

    def __call__(self, name: str, *options: str, status: int = 0) -> list[dict[str, str]]:
        assert main([name, "--checkpoint", str(self.checkpoint), *options]) == status
        printed, self.said = self.capsys.readouterr()
        return list(csv.DictReader(io.StringIO(printed), delimiter="\t" if "\t" in printed else ","))

    def error(self, name: str, *options: str) -> str:
        """The message of a command that fails and prints no table."""
        assert self(name, *options, status=1) == []
        return self.said


@pytest.fixture
def command(tiny_checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tiny_checkpoint, capsys)


def random_translator(
    tokenizer: SentencePieceTokenizer, num_encoder_layers: int = 2, num_decoder_layers: int = 3, **changes: Any
) -> Translator:
    """Three heads, in the decoder four, d_k and d_v free of d_model, every bias and gain random."""
    config = TransformerConfig(
        vocab_size=tokenizer.vocab_size,
        d_model=32,
        d_ff=48,
        num_heads=3,
        num_decoder_heads=4,
        d_k=5,
        d_v=7,
        num_encoder_layers=num_encoder_layers,
        num_decoder_layers=num_decoder_layers,
        **changes,
    )
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = Transformer(config).requires_grad_(False)
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(std=0.3)
            elif "norm" in name:
                parameter.uniform_(0.5, 1.5)
            elif "proj" in name:
                parameter.mul_(2)
    return Translator(model, tokenizer)


@pytest.fixture(scope="session")
def translator(tokenizer: SentencePieceTokenizer) -> Translator:
    return random_translator(tokenizer)


@pytest.fixture(scope="session")
def norm_first(tokenizer: SentencePieceTokenizer) -> Translator:
    """A model with LayerNorm on the input of each sub-layer, and two embeddings."""
    return random_translator(tokenizer, norm="pre", final_norm=True, tied="none", position_offset=2)


@pytest.fixture(scope="session")
def like_t5(tokenizer: SentencePieceTokenizer) -> Translator:
    """A model with relative positions, RMSNorm and gated networks."""
    return random_translator(tokenizer, **LIKE_T5)


@pytest.fixture(params=["post", "pre", "t5"])
def post_or_pre(
    request: pytest.FixtureRequest, translator: Translator, norm_first: Translator, like_t5: Translator
) -> Translator:
    """The models, one after the other."""
    return {"post": translator, "pre": norm_first, "t5": like_t5}[request.param]


@pytest.fixture(scope="session")
def traced(translator: Translator) -> ForwardTrace:
    return trace_forward(translator, SOURCE, TARGET)


@pytest.fixture(scope="session")
def traced_norm_first(norm_first: Translator) -> ForwardTrace:
    return trace_forward(norm_first, SOURCE, TARGET)
