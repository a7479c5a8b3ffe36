"""Facts about models, whose records of training may hold anything."""

import dataclasses
from typing import Any

import pytest

from core.formats.model_facts import architecture_facts, model_facts, origin_of, paper_facts, token_facts
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


# Another value of every field, with the fields that it needs.
OTHER_VALUES: dict[str, dict[str, Any]] = {
    "vocab_size": {"vocab_size": 65},
    "d_model": {"d_model": 36},
    "d_ff": {"d_ff": 65},
    "num_heads": {"num_heads": 2},
    "num_decoder_heads": {"num_decoder_heads": 2},
    "d_k": {"d_k": 9},
    "d_v": {"d_v": 9},
    "num_encoder_layers": {"num_encoder_layers": 3},
    "num_decoder_layers": {"num_decoder_layers": 3},
    "dropout": {"dropout": 0.2},
    "positions": {"positions": "learned"},
    "neighbourhood": {"neighbourhood": 3},
    "max_positions": {"max_positions": 65, "positions": "learned"},
    "relative_buckets": {"relative_buckets": 16, "positions": "relative"},
    "relative_max_distance": {"relative_max_distance": 65, "positions": "relative"},
    "pad_id": {"pad_id": 5},
    "bos_id": {"bos_id": 5},
    "eos_id": {"eos_id": 5},
    "norm": {"norm": "pre"},
    "norm_kind": {"norm_kind": "rms"},
    "final_norm": {"final_norm": True},
    "norm_eps": {"norm_eps": 1e-6},
    "activation": {"activation": "gelu"},
    "gated_feed_forward": {"gated_feed_forward": True},
    "decoder_d_ff": {"decoder_d_ff": 65},
    "attention_bias": {"attention_bias": False},
    "feed_forward_bias": {"feed_forward_bias": False},
    "output_bias": {"output_bias": True},
    "position_order": {"position_order": "halves"},
    "position_exponent": {"position_exponent": "i/(n-1)"},
    "position_offset": {"position_offset": 2},
    "scale_embedding": {"scale_embedding": False},
    "embedding_norm": {"embedding_norm": True},
    "target_vocab_size": {"target_vocab_size": 65, "tied": "none"},
    "tied": {"tied": "inputs"},
    "patch_size": {"patch_size": 8},
    "patch_rows": {"patch_rows": 3, "patch_size": 8},
    "mask_id": {"mask_id": 5},
    "forced_first_id": {"forced_first_id": 5},
    "source_prefix": {"source_prefix": (5,)},
    "source_suffix": {"source_suffix": (5,)},
    "source_end": {"source_end": False},
    "never_ids": {"never_ids": (5,)},
    "penalty_formula": {"penalty_formula": "length"},
    "early_stopping": {"early_stopping": False},
}


def test_every_field_of_the_configuration_is_in_the_facts() -> None:
    def facts(**changes: Any) -> dict[str, str]:
        config = dataclasses.replace(PRESETS["tiny"], **changes)
        return architecture_facts(config) | token_facts(config)

    for field in dataclasses.fields(TransformerConfig):
        changes = OTHER_VALUES[field.name]
        needed = {name: value for name, value in changes.items() if name != field.name}
        assert facts(**changes) != facts(**needed), field.name


@pytest.mark.parametrize(
    "training", [{"imported": 7}, {"imported": {"format": 1, "stored as": 2, "search": []}}, {"stored_as": {}}]
)
def test_a_record_of_training_may_be_anything(
    training: dict[str, Any], tiny_model: Transformer, tokenizer: SentencePieceTokenizer
) -> None:
    facts = model_facts(tiny_model, tokenizer, training)
    assert all(isinstance(value, str) for value in facts.values())
    assert isinstance(origin_of(training), str)
