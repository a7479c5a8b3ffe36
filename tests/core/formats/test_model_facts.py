"""Facts about models, whose records of training may hold anything."""

from typing import Any

import pytest

from core.config import PRESETS
from core.cpu_inference import computation
from core.formats.model_facts import architecture_facts, model_facts, origin_of
from core.model import Transformer
from core.tokenizer import SentencePieceTokenizer


def test_the_facts_of_a_checkpoint_of_headlight(tiny_model: Transformer, tokenizer: SentencePieceTokenizer) -> None:
    facts = model_facts(tiny_model, tokenizer, {"stored_as": "float16"})
    assert facts["format"] == "Headlight"
    assert facts["parameters"] == f"{sum(each.numel() for each in tiny_model.parameters()):,}"
    assert facts["stored as"] == "float16"
    assert facts["target languages"] == "one"
    assert facts["computation"] == computation(tiny_model)
    assert "options not applied" not in facts
    assert {**facts, **architecture_facts(tiny_model.config)} == facts


def test_the_paper_is_described_in_its_own_terms() -> None:
    facts = architecture_facts(PRESETS["base"])
    assert facts["norms"] == "after each residual connection"
    assert facts["positions"] == "sinusoidal, sines and cosines alternate, exponent i/n"
    assert facts["matrices"] == "both embeddings and the output projection are one matrix"
    assert architecture_facts(PRESETS["E-learned"])["positions"].startswith("learned, at most ")
    assert architecture_facts(PRESETS["en-de-r16"])["attention"] == "16 nearest positions"


@pytest.mark.parametrize(
    "training",
    [
        {"imported": 7},
        {"imported": {"format": 1, "stored as": 2, "search": []}},
        {"stored_as": {}},
    ],
)
def test_a_record_of_training_may_be_anything(
    training: dict[str, Any], tiny_model: Transformer, tokenizer: SentencePieceTokenizer
) -> None:
    facts = model_facts(tiny_model, tokenizer, training)
    assert all(isinstance(value, str) for value in facts.values())
    assert isinstance(origin_of(training), str)
