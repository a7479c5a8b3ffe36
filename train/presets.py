"""Descriptions of the presets: shape, recipe, and time, memory and scores where they were measured."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from core.files.training_runs import averaged_files, training_facts_of, training_runs
from core.formats.checkpoint import load_checkpoint
from core.formats.untrusted_parameters import num_parameters
from core.model.config import TransformerConfig
from core.model.preset_configs import PRESETS
from train.recipe import Recipe, recipe_for

Facts = dict[str, Any]

# Measurements that no shipped checkpoint records, one line each.
MEASURED = {
    "en-de": ("2.81 GB of memory at most, in 100 steps from random parameters on two cores of an Intel Xeon (AMX)",),
    "multi30k": (
        "7,000 steps of 0.59 s in bfloat16, 69 minutes, on one core of an Intel Xeon (AMX) whose other core was busy; "
        "45 minutes in another run, on two idle cores; 1.43 GB of memory at most in an earlier run",
        "test_2016_flickr: BLEU 40.30 (nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0), 40.72 lower-cased "
        "and tokenized; see docs/results.md",
        "test_2017_flickr: BLEU 32.60, 32.77 lower-cased and tokenized",
        "the run on two cores: 40.22 and 40.55 on test_2016_flickr, 32.89 and 33.06 on test_2017_flickr",
    ),
}


def describe_presets(checkpoints: Sequence[Path]) -> Iterator[str]:
    """Yield lines on every preset: shape, recipe, and measurements from checkpoints' training facts and `MEASURED`.

    Raises:
        CheckpointError: a file is not a checkpoint.
    """
    records = [(path, load_checkpoint(path).training) for path in checkpoints]
    for preset in PRESETS:
        yield from _shape_and_recipe(preset)
        measured: list[list[str]] = []
        for path, facts in records:
            if facts.get("preset") == preset and facts.get("steps"):
                with training_facts_of(path):
                    measured.append(_measured(path, facts))
        lines = [*itertools.chain(*measured), *MEASURED.get(preset, ())]
        yield from (f"  {line}" for line in lines or ["not measured"])


def _shape_and_recipe(preset: str) -> Iterator[str]:
    config, recipe = PRESETS[preset], recipe_for(preset)
    size = f"{num_parameters(config) / 1e6:.1f} M parameters with {config.vocab_size:,} pieces"
    yield f"{preset}: {size}, {shape_text(config)}"
    changes = [
        f"{field.name} {getattr(recipe, field.name)}"
        for field in fields(Recipe)
        if preset == "base" or getattr(recipe, field.name) != field.default
    ]
    yield f"  recipe: {', '.join(changes if preset == 'base' else ['as base', *changes])}"


def shape_text(config: TransformerConfig) -> str:
    """The shape of a model whose encoder and decoder have the same heads."""
    layers, heads = f"{config.num_encoder_layers} + {config.num_decoder_layers} layers", config.encoder_heads
    sizes = f"{heads.num_heads} heads, d_k {heads.d_k}, d_v {heads.d_v}, dropout {config.dropout}"
    return f"{layers}, d_model {config.d_model}, d_ff {config.d_ff}, {sizes}"


def _measured(path: Path, facts: Facts) -> list[str]:
    """Return lines on the known training facts of a checkpoint, scores last."""
    parts = [f"{path.name}: {facts['steps']:,} steps"]
    *earlier, _ = [run["steps"] for run in training_runs(facts) if "steps" in run] or [0]
    if earlier:
        parts[0] += f" after {', '.join(f'{steps:,}' for steps in earlier)} of other runs"
    if files := averaged_files(facts):
        parts.append(f"mean of {len(files)} snapshots")
    if "hours" in facts:
        parts.append(f"{facts['hours']} hours")
    if "memory_gb" in facts:
        parts.append(f"{facts['memory_gb']} GB of memory")
    if "hardware" in facts:
        parts.append(f"on {facts['hardware']}")
    scores = [f"{score['test_set']}: {_numbers(score)}" for score in facts.get("scores", [])]
    card = [f"details in {path.with_suffix('.md').name}"] if path.with_suffix(".md").exists() else []
    return [", ".join(parts), *scores, *card]


def _numbers(score: Facts) -> str:
    if "character_error_rate" in score:
        return f"character error rate {score['character_error_rate']} %, exact lines {score['exact_lines']} %"
    if "f1" in score:
        return f"F1 {score['f1']} ({score['evaluator']}), exact match {score['exact']} %"
    if "exact_texts" in score:
        return f"exact texts {score['exact_texts']} %"
    bleu = f"BLEU {score['bleu']} ({score['bleu_signature']})"
    if "iterations" in score:
        return f"{bleu}, mask-predict with {score['iterations']} iterations"
    return f"{bleu}, perplexity {score['perplexity']} per piece"
