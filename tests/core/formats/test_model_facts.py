"""Facts about models, whose records of training may hold anything."""

import dataclasses
from typing import Any, Literal, get_args, get_origin

import pytest

from core.formats.model_facts import (
    architecture_facts,
    model_facts,
    origin_of,
    outputs_answer,
    paper_facts,
    token_facts,
)
from core.inference.cpu_inference import computation
from core.model import Transformer
from core.model.config import TransformerConfig
from core.model.preset_configs import PRESETS
from core.text.tokenizer import SentencePieceTokenizer


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
    assert (facts["norms"], facts["epsilon of the norms"]) == ("after each residual connection", "1e-05")
    assert facts["widths"] == "d_model 512, d_ff 2,048, d_k 64, d_v 64"
    assert facts["biases"] == "attention, feed-forward"
    assert facts["length penalty"] == "((5 + length) / 6)^alpha"
    assert facts["positions"] == "sinusoidal, sines and cosines alternate, exponent i/n"
    assert facts["matrices"] == "both embeddings and the output projection are one matrix"
    assert architecture_facts(PRESETS["E-learned"])["positions"].startswith("learned, at most ")
    assert architecture_facts(PRESETS["reverse-r4"])["attention"] == "4 nearest positions"


def test_the_paper_is_credited_with_what_it_states() -> None:
    facts, stated = architecture_facts(PRESETS["base"]), paper_facts()
    assert facts.keys() - stated.keys() == {"epsilon of the norms", "end of a search"}  # not given
    assert {name for name in facts.keys() & stated.keys() if stated[name] != facts[name]} == {"biases"}
    assert (stated["biases"], stated["parameters"]) == ("feed-forward", "65 M")


def test_a_model_that_guesses_is_told_from_one_that_is_sure() -> None:
    numbers = "-8.50 nats per token, where a guess has -9.01."
    assert outputs_answer([-9.0, -8.0], 8192) == f"The model is hardly better than a guess: {numbers}"
    assert outputs_answer([-0.2, -0.4], 8192).startswith("The model is sure of what it writes: -0.30 nats per token")


# What another value of a field needs, and values that are not one more, or the other choice.
NEEDED: dict[str, dict[str, Any]] = {
    **{name: {"positions": "relative"} for name in ("relative_buckets", "relative_max_distance")},
    "max_positions": {"positions": "learned"},
    "target_vocab_size": {"tied": "none"},
    "patch_rows": {"patch_size": 8},
}
OTHER = {"d_model": 36, "num_heads": 2, "num_decoder_heads": 2, "dropout": 0.2, "norm_eps": 1e-6}
OTHER |= {"relative_buckets": 16, "pad_id": 5, "bos_id": 5, "eos_id": 5}


def other_value(field: dataclasses.Field[Any], default: Any) -> Any:
    if field.name in OTHER:
        return OTHER[field.name]
    if get_origin(field.type) is Literal:
        return next(choice for choice in get_args(field.type) if choice != default)
    if field.type is bool:
        return not default
    return (5,) if field.type == tuple[int, ...] else (default or 4) + 1


def test_every_field_of_the_configuration_is_in_the_facts() -> None:
    def facts(**changes: Any) -> dict[str, str]:
        config = dataclasses.replace(PRESETS["tiny"], **changes)
        return architecture_facts(config) | token_facts(config)

    for field in dataclasses.fields(TransformerConfig):
        needed = NEEDED.get(field.name, {})
        other = other_value(field, getattr(PRESETS["tiny"], field.name))
        assert facts(**{field.name: other}, **needed) != facts(**needed), field.name


@pytest.mark.parametrize(
    "training", [{"imported": 7}, {"imported": {"format": 1, "stored as": 2, "search": []}}, {"stored_as": {}}]
)
def test_a_record_of_training_may_be_anything(
    training: dict[str, Any], tiny_model: Transformer, tokenizer: SentencePieceTokenizer
) -> None:
    facts = model_facts(tiny_model, tokenizer, training)
    assert all(isinstance(value, str) for value in facts.values())
    assert isinstance(origin_of(training), str)
