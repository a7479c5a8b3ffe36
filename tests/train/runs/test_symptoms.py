import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import train.loop
import train.runs.symptoms
from core.files.runlog import of_kind, read_log
from core.model import Transformer
from core.model.preset_configs import PRESETS
from tests.train.conftest import Fit, write_shards
from train.data.token_shards import Batch, TokenShards
from train.loss import Loss, TranslationLoss
from train.runs.symptoms import MIN_STEPS, NEAR, WINDOWS, FrequencyWatch, dropout_warning, token_entropy


@pytest.fixture
def shards(tmp_path: Path) -> TokenShards:
    write_shards(tmp_path, [([5, 6], [7, 7]), ([5], [8, 9]), ([6], [7, 9])], vocab_size=12)
    return TokenShards(tmp_path)


def test_the_entropy_is_that_of_tokens_and_ends_of_sentences(shards: TokenShards) -> None:
    counts = np.array([3, 3, 1, 2])  # </s>, 7, 8, 9
    assert token_entropy(shards) == pytest.approx(-sum(n / 9 * math.log(n / 9) for n in counts))


def warnings(watch: FrequencyWatch, losses: list[float]) -> dict[int, str]:
    """Warnings by step, with a line of the log every 25 steps."""
    messages = {25 * number: watch.after(25 * number, loss) for number, loss in enumerate(losses, 1)}
    return {step: message for step, message in messages.items() if message}


def test_a_run_is_stuck_that_stays_at_word_frequencies_and_not_one_that_has_left_them(shards: TokenShards) -> None:
    entropy = token_entropy(shards)
    [(step, message)] = warnings(FrequencyWatch(shards, warmup=100), [entropy] * 60).items()
    assert step == MIN_STEPS
    assert (
        f"stuck: after {step} steps the loss is {entropy:.2f} nats per token, and guessing tokens by their" in message
    )
    assert "half the --rate-scale or twice the --warmup" in message
    falling = [entropy] * (MIN_STEPS // 25 - WINDOWS) + [0.9 * NEAR * entropy] * 40
    assert not warnings(FrequencyWatch(shards, warmup=100), falling)


def test_a_long_warm_up_is_given_more_steps(shards: TokenShards) -> None:
    assert list(warnings(FrequencyWatch(shards, warmup=4_000), [2.0] * 60)) == [1_000]


class WorseWithoutDropout(TranslationLoss):
    """Half a nat per token better with dropout; `level` is the loss with it."""

    level = 1.0

    def forward(self, batch: Batch) -> Loss:
        nll = torch.tensor(self.level + 0.5 * (not self.training)) * batch.num_tokens
        return Loss(nll, nll)


def test_a_model_that_dropout_helps_has_collapsed_and_not_one_that_has_learned_nothing_yet(shards: TokenShards) -> None:
    loss_of = WorseWithoutDropout(Transformer(replace(PRESETS["tiny"], vocab_size=12)), 0.0)
    message = dropout_warning(loss_of, shards, max_length=10)
    assert message is not None
    assert "predicts its own training text worse (1.50 nats per token) than with it (1.00)" in message
    assert not loss_of.training
    loss_of.level = math.log(12) + 0.1
    assert dropout_warning(loss_of, shards, max_length=10) is None


def test_a_sound_model_has_not(prepared: Path, run_fit: Fit, tmp_path: Path) -> None:
    model = run_fit(tmp_path, steps=40, warmup=10)
    assert dropout_warning(TranslationLoss(model, 0.0), TokenShards(prepared / "train"), max_length=64) is None


def test_fit_logs_the_warning(tmp_path: Path, run_fit: Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train.loop, "LOG_EVERY", 1)
    monkeypatch.setattr(train.runs.symptoms, "MIN_STEPS", 2)
    monkeypatch.setattr(train.runs.symptoms, "WINDOWS", 2)
    run_fit(tmp_path, steps=3, warmup=4)
    [warning] = of_kind(read_log(tmp_path / "log.jsonl"), "warning")
    assert warning["step"] == 2
    assert warning["message"].startswith("stuck: after 2 steps the loss is")
