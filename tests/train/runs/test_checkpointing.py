"""Validation during training agrees with the evaluation of its checkpoints."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from core.model import Transformer
from core.model.preset_configs import PRESETS
from core.translator import Translator
from train import distributed
from train.data.prepared_corpus import Corpus
from train.eval.translation_scores import TestSet, perplexity
from train.loss import loss_module
from train.recipe import Recipe
from train.runs.checkpointing import validate


def test_validation_has_the_perplexity_of_evaluate(prepared: Path, recipe: Recipe) -> None:
    config = replace(PRESETS["tiny"], vocab_size=400)
    torch.manual_seed(0)
    model, corpus = Transformer(config), Corpus.open(prepared, config)
    with distributed.join(torch.device("cpu")) as world:
        numbers = validate(loss_module(model, 0.0), corpus.valid, replace(recipe, precision="float32"), world)
    pairs = TestSet.read(prepared / "valid.source.txt", prepared / "valid.target.txt").pairs
    assert numbers["perplexity"] == pytest.approx(perplexity(Translator(model, corpus.tokenizer), pairs), rel=1e-5)
    model.embedding.tokens.weight.data *= 1e6
    with distributed.join(torch.device("cpu")) as world, pytest.raises(FloatingPointError, match="has diverged"):
        validate(loss_module(model, 0.0), corpus.valid, replace(recipe, precision="float32"), world)
