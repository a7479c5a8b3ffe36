"""Signs that a training run goes wrong, in words: stuck at word frequencies, or worse without dropout than with it."""

import math
from collections import deque
from functools import cached_property

import numpy as np
import torch

from core.text.tokenizer import EOS_ID
from train.data.token_shards import TokenShards
from train.loss import MaskedLoss, TranslationLoss

WINDOWS = 10  # lines of the log over whose mean a run is judged: batches of short sentences have other losses
MIN_STEPS = 500  # shipped models, and the paper's base model, have left word frequencies behind by then
NEAR = 0.95  # of the loss of word frequencies
SAMPLE_PAIRS = 32
WORSE_WITHOUT_DROPOUT = 0.25  # nats per token; a sound model is better without
ADVICE = (
    "the learning rate is probably too high or rises too fast: begin a new run with half the --rate-scale or twice the "
    "--warmup"
)


class FrequencyWatch:
    """Watches whether training leaves the loss of word frequencies behind, later if the rate rises slowly.

    A model with too high a rate never does: it predicts each token as often as it occurs, whatever the source.
    """

    def __init__(self, shards: TokenShards, warmup: int) -> None:
        self._shards = shards
        self._first_step = max(MIN_STEPS, warmup // 4)
        self._losses: deque[float] = deque(maxlen=WINDOWS)
        self._is_done = False

    def after(self, step: int, nll: float) -> str | None:
        """Return a warning, once, if the losses up to `step` are those of word frequencies."""
        self._losses.append(nll)
        if self._is_done or step < self._first_step or len(self._losses) < WINDOWS:
            return None
        self._is_done = True  # either it has left them behind, or the warning follows
        mean = sum(self._losses) / WINDOWS
        if mean < NEAR * self._entropy:
            return None
        return (
            f"stuck: after {step} steps the loss is {mean:.2f} nats per token, and guessing tokens by their frequency "
            f"has {self._entropy:.2f}: nothing has been learned from the source; {ADVICE}"
        )

    @cached_property
    def _entropy(self) -> float:
        return token_entropy(self._shards)


def token_entropy(shards: TokenShards) -> float:
    """Entropy of the target tokens' frequencies, `</s>` included, in nats."""
    tokens = shards.tokens[1]
    counts = np.zeros(max(shards.largest_id(), EOS_ID) + 1, dtype=np.int64)
    for start in range(0, len(tokens), 2**24):
        counts += np.bincount(tokens[start : start + 2**24], minlength=len(counts))
    counts[EOS_ID] += len(shards)
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


@torch.no_grad()
def dropout_warning(loss_of: TranslationLoss | MaskedLoss, shards: TokenShards, max_length: int) -> str | None:
    """Return a warning if a model predicts its training text worse without dropout than with it.

    Docs: `docs/training.md`, "When a run goes wrong". The model is left in evaluation mode, its loss without smoothing.
    """
    usable = np.flatnonzero(shards.lengths().max(axis=1) <= max_length)[:SAMPLE_PAIRS]
    batch = shards.batch(usable).to(loss_of.model.device)
    with_dropout, without = (float(loss_of.train(mode)(batch).nll) / batch.num_tokens for mode in (True, False))
    has_learned = with_dropout < math.log(loss_of.model.config.target_size)  # random models may be worse without, too
    if not has_learned or without - with_dropout < WORSE_WITHOUT_DROPOUT:
        return None
    return (
        f"collapsed: without dropout the model predicts its own training text worse ({without:.2f} nats per token) "
        f"than with it ({with_dropout:.2f}), and translates badly; {ADVICE}"
    )
