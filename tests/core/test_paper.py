"""The paper in one file: short, alone, and the same numbers as `core`, with which it shares no code."""

import ast
import json
import random
import sys
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from core import paper
from core.translator import Translator
from tests.margins import assert_equal_to_rounding

CHECKPOINT = "checkpoints/en-de.safetensors"
TEXTS = (
    "A dog runs.",
    "She is not at home.",
    "The animal didn't cross the street because it was too tired.",
    "A little girl in a pink dress is climbing up a set of stairs.",
)


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.from_checkpoint(CHECKPOINT, "cpu")


@pytest.fixture(scope="module")
def model() -> paper.Transformer:
    """The shipped weights in the paper's model: all tensors of the file but the tokenizer's have their place."""
    with safe_open(CHECKPOINT, "pt") as file:
        config = json.loads(file.metadata()["config"])
        sizes = (config[name] for name in ("vocab_size", "d_model", "d_ff", "num_heads", "num_encoder_layers"))
        model = paper.Transformer(*sizes).eval()
        assert {name.split(".")[0] for name in file.keys() - model.state_dict().keys()} == {"tokenizer"}
        model.load_state_dict({name: file.get_tensor(name).float() for name in model.state_dict()})
    return model


def padded(rows: list[list[int]]) -> torch.Tensor:
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], True, paper.PAD)


def test_is_one_short_file_that_needs_torch_alone() -> None:
    text = Path(paper.__file__).read_text("utf-8")
    assert len(text.splitlines()) <= 300
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in imports}
    assert {str(module).split(".")[0] for module in modules} <= {"torch", *sys.stdlib_module_names}


def test_logits_are_those_of_core(model: paper.Transformer, translator: Translator) -> None:
    sources = padded([translator.codec.source_ids(text) for text in TEXTS])
    draw = random.Random(1)
    targets = padded([[paper.BOS, *draw.choices(range(3, 8000), k=count)] for count in (1, 20, 7, 13)])
    with torch.inference_mode():
        found, expected = model(sources, targets), translator.model(sources, targets)
    real = targets != paper.PAD  # other rows are of no use
    assert_equal_to_rounding(found[real], expected[real], translator.model)


@pytest.mark.parametrize("text", TEXTS)
def test_finds_the_hypotheses_of_core(text: str, model: paper.Transformer, translator: Translator) -> None:
    source_ids = translator.codec.source_ids(text)
    for beam_size in (1, 4):
        expected = translator.translate(text, beam_size=beam_size, num_hypotheses=beam_size).hypotheses
        found = paper.beam_search(model, source_ids, beam_size)[:beam_size]
        assert found == [list(hypothesis.token_ids) for hypothesis in expected]
        if beam_size == 1:
            assert paper.greedy(model, torch.tensor([source_ids])) == found


def test_the_loss_is_that_of_pytorch() -> None:
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(2, 5, 13, dtype=torch.float64, generator=generator)
    labels = torch.randint(13, (2, 5), generator=generator)
    expected = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), label_smoothing=0.1, ignore_index=paper.PAD
    )
    torch.testing.assert_close(paper.smoothed_loss(logits, labels), expected)
