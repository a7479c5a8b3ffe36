"""Recipes against sections 5 and 6.2 of the paper."""

from dataclasses import replace

import pytest

from core.analysis.model_variations import TABLE_3
from core.model.preset_configs import PRESETS
from train.recipe import recipe_for


def test_the_recipe_of_the_base_model_is_that_of_the_paper() -> None:
    """Sections 5.1 to 5.4."""
    base = recipe_for("base")
    assert (base.steps, base.batch_tokens, base.warmup, base.label_smoothing) == (100_000, 25_000, 4_000, 0.1)
    assert (base.rate_scale, base.cooldown, base.r_drop, base.clip_norm, base.accumulate) == (1, 0, 0, 0, 1)


def test_english_french_is_big_with_another_vocabulary_and_dropout() -> None:
    """Sections 5.1 and 6.1."""
    french = PRESETS["big-en-fr"]
    assert (french.vocab_size, french.dropout) == (32_000, 0.1)
    assert replace(french, vocab_size=PRESETS["big"].vocab_size, dropout=PRESETS["big"].dropout) == PRESETS["big"]
    assert recipe_for("big-en-fr") == recipe_for("big")


@pytest.mark.parametrize("name", TABLE_3)
def test_a_row_of_table_3_differs_from_it_in_what_it_says(name: str) -> None:
    smoothing = name.removeprefix("D-label-smoothing")
    recipe, base = recipe_for(name), recipe_for("base")
    assert recipe.label_smoothing == (float(smoothing) if smoothing != name else base.label_smoothing)
    is_big = name == "big"
    assert recipe.steps == (300_000 if is_big else base.steps)
    # snapshots of ten minutes at 1 s or 0.4 s a step (5.2), of which the mean of 20 or 5 is taken (6.1)
    assert recipe.snapshot_every == 10 * 60 / (1.0 if is_big else 0.4)
    assert recipe.keep_snapshots >= (20 if is_big else 5)
    assert (recipe.warmup, recipe.batch_tokens, recipe.rate_scale) == (base.warmup, base.batch_tokens, base.rate_scale)
