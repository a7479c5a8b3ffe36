"""How a preset is trained (5): everything that decides a run's numbers, beside the data and the model's shape."""

from dataclasses import dataclass, replace
from typing import Literal

from train.data.batches import POOLS, Bucketing

TrainingPrecision = Literal["bfloat16", "float32"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One optimizer step sees, in each process, `accumulate` batches of at most `batch_tokens` source and target
    tokens.

    Raises:
        ValueError: a value is out of range.
    """

    steps: int = 100_000
    minutes: float = 0.0  # of training, after which to stop before `steps` are done; 0: never
    batch_tokens: int = 25_000
    accumulate: int = 1
    warmup: int = 4_000  # steps over which the learning rate rises
    rate_scale: float = 1.0  # times the rate of section 5.3
    cooldown: int = 0  # last steps, over which the rate falls in a line towards 0; 0: the paper's rate to the end
    label_smoothing: float = 0.1
    clip_norm: float = 0.0  # longest gradient; 0: however long
    bucketing: Bucketing = "longest"  # see `train.data.batches.Batches`
    max_length: int = 256  # tokens; longer sentences are left out
    # auto: measured where the run begins, see `train.precision`
    precision: Literal["auto", "bfloat16", "float32"] = "auto"
    seed: int = 1
    snapshot_every: int = 1_000  # steps between snapshots, each with a validation
    snapshot_minutes: float = 0.0  # minutes between further snapshots; 0: none
    keep_snapshots: int = 10
    patience: int = 0  # validations without a new best after which to stop; 0: never

    def __post_init__(self) -> None:
        for name in ("steps", "batch_tokens", "accumulate", "warmup", "max_length", "snapshot_every", "keep_snapshots"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} ({getattr(self, name)}) must be at least 1")
        for name in ("clip_norm", "snapshot_minutes", "patience", "cooldown", "minutes"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} ({getattr(self, name)}) must not be negative; 0 turns it off")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(f"label_smoothing ({self.label_smoothing}) must be from 0 up to, but not including, 1")
        if self.rate_scale <= 0:
            raise ValueError(f"rate_scale ({self.rate_scale}) must be positive")
        if self.precision not in ("auto", "bfloat16", "float32"):
            raise ValueError(f"precision ({self.precision!r}) must be 'auto', 'bfloat16' or 'float32'")
        if self.bucketing not in POOLS:
            raise ValueError(f"bucketing ({self.bucketing!r}) must be one of {', '.join(POOLS)}")


# A run that ends at another step, or saves otherwise, is still the same run: these may change when it is resumed.
FREE = ("steps", "minutes", "cooldown", "snapshot_every", "snapshot_minutes", "keep_snapshots", "patience")

_PAPER = Recipe()
# Peak rate 7e-4: 6 + 6 post-norm layers on batches this small do not leave the unigram loss above 1e-3.
_EN_DE = Recipe(
    steps=30_000,
    batch_tokens=4_096,
    warmup=1_200,
    rate_scale=0.388,
    max_length=128,
    snapshot_every=500,
    bucketing="target",
)

# Presets that are not named here are trained as the paper's base model is.
RECIPES: dict[str, Recipe] = {
    "big": replace(_PAPER, steps=300_000),
    "D-label-smoothing0.0": replace(_PAPER, label_smoothing=0.0),
    "D-label-smoothing0.2": replace(_PAPER, label_smoothing=0.2),
    "en-de": _EN_DE,
    "en-de-r16": _EN_DE,
    # Warm-up of Wu et al. 2021, who make 8,000 steps of two such batches at a peak rate of 5e-3 (here 3.5e-3); they
    # have no cooldown.
    "multi30k": Recipe(
        steps=7_000,
        batch_tokens=4_096,
        warmup=2_000,
        rate_scale=1.75,
        cooldown=2_500,
        max_length=128,
        snapshot_every=500,
        bucketing="target",
    ),
    # Trees are long sequences; 16,000 steps of warming up as in `transformer_parsing_base` of the authors'
    # Tensor2Tensor.
    "parsing": replace(_PAPER, warmup=16_000, max_length=512),
    # Small batches, so that a CPU makes many steps.
    "parsing-small": Recipe(
        steps=6_000,
        batch_tokens=2_048,
        warmup=600,
        rate_scale=0.55,
        cooldown=800,
        max_length=200,
        snapshot_every=400,
        bucketing="target",
    ),
    "tiny": Recipe(steps=200, batch_tokens=256, warmup=50, max_length=32, snapshot_every=50, keep_snapshots=2),
}


def recipe_for(preset: str) -> Recipe:
    """How this preset is trained."""
    return RECIPES.get(preset, _PAPER)
