"""Training recipes (5): a run's settings but for the data and the model's shape."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_args, get_type_hints

from core.analysis.model_variations import TABLE_3
from core.files.number_range import FROM_1, SEEDS, NumberRange
from core.model.schedule import COOLDOWN_SHARE, ScheduleName
from core.model.training import LABEL_SMOOTHING, WARMUP
from train.data.batches import Bucketing

TrainingPrecision = Literal["bfloat16", "float32"]
OFF_OR_MORE, WHOLE_OFF_OR_MORE = (NumberRange(kind, note="0 turns it off") for kind in (float, int))


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Settings of a training run, with their help texts and ranges; the defaults are the paper's base model's.

    Raises:
        ValueError: a value is out of range.
    """

    steps: Annotated[int, "optimizer steps", FROM_1] = 100_000
    minutes: Annotated[
        float,
        "stop after this many minutes of training, even before --steps, with the warm-up in the first tenth of them; "
        "0: no limit",
        OFF_OR_MORE,
    ] = 0.0
    batch_tokens: Annotated[int, "most source and most target tokens of a batch, padding included", FROM_1] = 25_000
    accumulate: Annotated[int, "batches of each process in a step", FROM_1] = 1
    warmup: Annotated[int, "steps over which the learning rate rises", FROM_1] = WARMUP
    rate_scale: Annotated[float, "factor on the learning rate of section 5.3", NumberRange(float, 0, above=True)] = 1.0
    schedule: Annotated[
        ScheduleName,
        "after the warm-up the rate falls with the inverse square root of the step (inverse_sqrt), or stays until the "
        "cooldown (constant)",
    ] = "inverse_sqrt"
    cooldown: Annotated[
        int, "final steps over which the rate falls linearly towards 0; 0: none, as in the paper", WHOLE_OFF_OR_MORE
    ] = 0
    cooldown_minutes: Annotated[
        float,
        "final minutes of --minutes over which the rate falls linearly towards 0; 0: none; a quarter of them if only "
        "--minutes is given",
        OFF_OR_MORE,
    ] = 0.0
    label_smoothing: Annotated[
        float, "probability spread evenly over the vocabulary (5.4)", NumberRange(float, 0, 1, below=True)
    ] = LABEL_SMOOTHING
    r_drop: Annotated[
        float,
        "weight of the divergence between two passes with different dropout (Liang et al. 2021); 0: one pass",
        OFF_OR_MORE,
    ] = 0.0
    keep: Annotated[
        float,
        "share of the target distribution that is what the model of --init predicts, but for pairs made by rule (Li "
        "and Hoiem 2016); 0: none",
        NumberRange(float, 0, 1),
    ] = 0.0
    only: Annotated[
        str, "train only parameters whose names have one of these parts, as encoder,bytes; bytes: embeddings of bytes"
    ] = "all"
    clip_norm: Annotated[float, "largest norm of the gradient; 0: no clipping", OFF_OR_MORE] = 0.0
    bucketing: Annotated[
        Bucketing,
        "sort pairs into batches by the longer side (longest) or by the target (target), or do not sort them and train "
        "without padding (packed)",
    ] = "longest"
    max_length: Annotated[int, "leave out pairs with more tokens on a side", FROM_1] = 1_000
    precision: Annotated[
        Literal["auto", "bfloat16", "float32"],
        "bfloat16, float32, or auto: the faster one by a measurement at the start",
    ] = "auto"
    seed: Annotated[int, "seed of parameters, dropout and the order of batches", SEEDS] = 1
    snapshot_every: Annotated[int, "steps between snapshots, each with a validation", FROM_1] = 1_500
    snapshot_minutes: Annotated[float, "minutes between snapshots without validation; 0: none", OFF_OR_MORE] = 0.0
    keep_snapshots: Annotated[int, "snapshots to keep, the latest", FROM_1] = 10
    history: Annotated[
        int,
        "further snapshots in half precision, never deleted, from step 0 on, closer at the start; 0: none",
        NumberRange(int, 0, 10_000, note="0 turns it off"),
    ] = 0
    patience: Annotated[int, "stop after this many validations without a new best; 0: never", WHOLE_OFF_OR_MORE] = 0

    def __post_init__(self) -> None:
        for name, allowed in RANGES.items():
            allowed.check(name, getattr(self, name))
        if self.cooldown_minutes > self.minutes:
            raise ValueError(
                f"cooldown_minutes ({self.cooldown_minutes:g}) must be at most minutes ({self.minutes:g}): the rate "
                f"falls in the last of them"
            )
        if self.history == 1:
            raise ValueError("history (1) must be at least 2, for the first and the last step; 0 turns it off")
        if self.precision not in ("auto", "bfloat16", "float32"):
            raise ValueError(f"precision ({self.precision!r}) must be 'auto', 'bfloat16' or 'float32'")
        for name, names in (("bucketing", get_args(Bucketing)), ("schedule", get_args(ScheduleName))):
            if getattr(self, name) not in names:
                raise ValueError(f"{name} ({getattr(self, name)!r}) must be one of {', '.join(names)}")
        for name in ("r_drop", "keep"):
            if (value := getattr(self, name)) and self.bucketing == "packed":
                raise ValueError(f"{name} ({value}) must be 0 with --bucketing packed, whose loss has no such part")

    def history_steps(self) -> frozenset[int]:
        """Return the steps of the `history` snapshots: k^3 times a constant, as most changes early in training."""
        return frozenset(round(self.steps * (k / (self.history - 1)) ** 3) for k in range(self.history))


# Of the fields, by name.
_NOTES = {name: hint.__metadata__ for name, hint in get_type_hints(Recipe, include_extras=True).items()}
HELP: dict[str, str] = {name: notes[0] for name, notes in _NOTES.items()}
RANGES: dict[str, NumberRange] = {name: notes[1] for name, notes in _NOTES.items() if notes[1:]}

# Fields that may change when a run is resumed: they decide when it ends and is saved, not the result of a step.
CHANGEABLE = (
    *("steps", "minutes", "cooldown", "cooldown_minutes"),
    *("snapshot_every", "snapshot_minutes", "keep_snapshots", "history", "patience"),
)

_PAPER = Recipe()
_TABLE_3 = {
    name: replace(_PAPER, steps=row.steps, label_smoothing=row.label_smoothing) for name, row in TABLE_3.items()
}
# Snapshots are ten minutes of the paper's hardware apart, 1,500 steps of 0.4 s or 600 of 1 s (5.2); it averages the
# last 5 of base and the last 20 of big (6.1).
_BIG = replace(_TABLE_3["big"], snapshot_every=600, keep_snapshots=20)
# Peak rate 7e-4: with rates above 1e-3, 6 + 6 post-norm layers on batches this small stay at the unigram loss.
_EN_DE = Recipe(
    steps=30_000,
    batch_tokens=4_096,
    warmup=1_200,
    rate_scale=0.388,
    max_length=128,
    snapshot_every=500,
    bucketing="target",
)
# Peak rate 2e-3.
_REVERSE = Recipe(
    steps=1_400,
    batch_tokens=640,
    warmup=100,
    rate_scale=0.16,
    cooldown=500,
    label_smoothing=0.0,
    max_length=32,
    precision="float32",
    snapshot_every=700,
)

# All other presets use the recipe of the paper's base model.
RECIPES: dict[str, Recipe] = {
    **_TABLE_3,
    "big": _BIG,
    "big-en-fr": _BIG,
    "en-de": _EN_DE,
    "en-de-draft": replace(_EN_DE, steps=1_150, warmup=600, rate_scale=0.64, cooldown=500, snapshot_every=1_000),
    # From the parameters of en-de (`fit --init`), on its own translations.
    "en-de-mask-predict": replace(_EN_DE, steps=1_600, warmup=300, rate_scale=0.166, cooldown=800, snapshot_every=400),
    # Warm-up of Wu et al. (2021): 8,000 steps of two such batches, peak rate 5e-3 (here 3.5e-3), no cooldown.
    "multi30k": replace(_EN_DE, steps=7_000, warmup=2_000, rate_scale=1.75, cooldown=2_500),
    # Linearised trees are long. Warm-up as in `transformer_parsing_base` of the authors' Tensor2Tensor.
    "parsing": replace(_PAPER, warmup=16_000, max_length=512),
    # Small batches: more steps in the same time on a CPU.
    "parsing-small": replace(
        _EN_DE,
        steps=6_500,
        batch_tokens=2_048,
        warmup=600,
        rate_scale=0.55,
        cooldown=2_000,
        max_length=300,
        snapshot_every=400,
    ),
    # Peak rate 8e-4: with rates above 2e-3 the model does not learn to look at the picture in 1,500 steps. It learns
    # faster from lines of one to three characters at first (max_length 15), and from all others then (`fit --init`).
    "lines": Recipe(
        steps=9_000,
        batch_tokens=2_048,
        warmup=300,
        rate_scale=0.16,
        cooldown=2_500,
        label_smoothing=0.0,
        clip_norm=1.0,
        max_length=120,
        snapshot_every=1_000,
    ),
    **dict.fromkeys(("reverse", "reverse-learned", "reverse-r4"), _REVERSE),
    "tiny": Recipe(steps=200, batch_tokens=256, warmup=50, max_length=32, snapshot_every=50, keep_snapshots=2),
}


# Ten minutes of one core make few steps: with batches of 4,096 tokens `multi30k` learned next to nothing in them, with
# 1,024 it translated, and a constant rate was better for every seed (benchmarks/README.md, `first_training`).
LEAST_BATCH, BATCH_TOKENS_A_MINUTE = 1_024, 102.4


def fitted_to_minutes(recipe: Recipe, minutes: float, on_cpu: bool) -> dict[str, Any]:
    """Return the settings that a run of some minutes takes unless others are given: how its rate ends, and on a CPU
    smaller batches, for more steps, and a constant rate.
    """
    fitted: dict[str, Any] = {"cooldown_minutes": COOLDOWN_SHARE * minutes}
    if on_cpu and minutes:
        tokens = max(LEAST_BATCH, 2 ** round(math.log2(BATCH_TOKENS_A_MINUTE * minutes)))
        fitted |= {"batch_tokens": min(recipe.batch_tokens, tokens), "schedule": "constant"}
    return fitted


def recipe_for(preset: str) -> Recipe:
    """Return the recipe of a preset."""
    return RECIPES.get(preset, _PAPER)
