from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import train.packed
from core.model import Transformer
from core.model.config import TransformerConfig
from core.model.preset_configs import PRESETS
from tests.train.conftest import Fit
from train.__main__ import main
from train.data.packed_batch import PackedBatch, PackedShape
from train.data.token_shards import Batch, make_batch
from train.loss import Loss, TranslationLoss
from train.packed import PackedLoss, Sentences, cross_entropy, refusal

SHAPE = PackedShape(rows=160, longest=16)
SMALL = {"vocab_size": 64, "d_model": 16, "d_ff": 24, "num_encoder_layers": 2, "num_decoder_layers": 2, "dropout": 0.0}
VARIANTS: dict[str, dict[str, Any]] = {
    "pre-norm": {"norm": "pre", "final_norm": True, "norm_kind": "rms"},
    "learned positions": {"positions": "learned", "max_positions": 16},
    "nothing tied": {"tied": "none", "output_bias": True},
    "no biases": {"attention_bias": False, "feed_forward_bias": False, "gated_feed_forward": True},
    "embedding norm": {"embedding_norm": True, "scale_embedding": False, "position_offset": 2},
    "other decoder": {"num_decoder_heads": 2, "decoder_d_ff": 40, "num_decoder_layers": 1},
}


def model_of(config: TransformerConfig) -> Transformer:
    """A model without dropout, whose biases and norms are not those of the start."""
    torch.manual_seed(1)
    model = Transformer(config).train()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def batches(seed: int = 1, pairs: int = 9) -> tuple[Batch, PackedBatch]:
    """The same random pairs, padded and packed."""
    random = np.random.default_rng(seed)
    rows = [[random.integers(3, 64, int(random.integers(0, 15))).tolist() for _ in range(2)] for _ in range(pairs)]
    sides = [
        (np.array([token_id for row in side for token_id in row], dtype=np.uint16), np.array([*map(len, side)]))
        for side in zip(*rows, strict=True)
    ]
    return make_batch([(source, target) for source, target in rows]), SHAPE.batch(*sides)


def step(loss_of: nn.Module, batch: Batch | PackedBatch) -> tuple[Loss, list[Tensor]]:
    loss_of.zero_grad()
    loss = loss_of(batch)
    loss.smoothed.backward()
    return loss, [parameter.grad.clone() for parameter in loss_of.parameters() if parameter.grad is not None]


def assert_same_step(one: tuple[Loss, list[Tensor]], two: tuple[Loss, list[Tensor]]) -> None:
    torch.testing.assert_close((one[0].smoothed, one[0].nll), (two[0].smoothed, two[0].nll), rtol=1e-5, atol=1e-4)
    for gradient, expected in zip(one[1], two[1], strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-3, atol=1e-4 * float(expected.abs().max() + 1))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_packed_step_is_the_padded_step(variant: str) -> None:
    model = model_of(replace(PRESETS["tiny"], **{**SMALL, **VARIANTS[variant]}))
    padded, packed = batches()
    assert packed.num_tokens == padded.num_tokens
    assert_same_step(step(PackedLoss(model, 0.1), packed), padded_step(model, padded))


def padded_step(model: Transformer, batch: Batch) -> tuple[Loss, list[Tensor]]:
    """By `Transformer.forward` and PyTorch's cross-entropy."""
    model.zero_grad()
    logits = model(batch.source, batch.target_in)
    real = batch.target_out != model.config.pad_id
    smoothed, nll = (
        nn.functional.cross_entropy(logits[real], batch.target_out[real], label_smoothing=smoothing, reduction="sum")
        for smoothing in (0.1, 0.0)
    )
    smoothed.backward()
    gradients = [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]
    return Loss(smoothed.detach(), nll.detach()), gradients


@pytest.mark.parametrize("preset", [name for name, config in PRESETS.items() if refusal(config) is None])
def test_every_preset_that_is_accepted_has_the_padded_step(preset: str) -> None:
    config, small = PRESETS[preset], 4
    heads = config.num_heads if config.num_heads <= small else small
    model = model_of(
        replace(
            config,
            **SMALL,
            num_heads=heads,
            d_k=None,
            d_v=None,
            **({"max_positions": 16} if config.positions == "learned" else {}),
        )
    )
    padded, packed = batches(pairs=3)
    assert_same_step(step(PackedLoss(model, 0.1), packed), step(TranslationLoss(model, 0.1), padded))


def test_presets_that_need_masks_or_other_heads_are_refused() -> None:
    assert {name for name, config in PRESETS.items() if refusal(config)} == {
        "B-dk16", "B-dk32", "en-de-mask-predict", "lines", "reverse-r4",
    }  # fmt: skip
    with pytest.raises(ValueError, match="packed does not fit this model: relative positions and neighbourhoods need"):
        PackedLoss(Transformer(replace(PRESETS["tiny"], neighbourhood=4)), 0.1)


def test_rows_without_a_label_change_nothing() -> None:
    torch.manual_seed(1)
    states, weight, labels = torch.randn(7, 8, requires_grad=True), torch.randn(20, 8), torch.randint(20, (7,))
    real = torch.tensor([True] * 4 + [False] * 3)
    smoothed, nll = cross_entropy(states, weight, None, labels, real, 0.1)
    gradient = torch.autograd.grad(smoothed, states)[0]
    for sum_of, smoothing in ((smoothed, 0.1), (nll, 0.0)):
        torch.testing.assert_close(
            sum_of,
            nn.functional.cross_entropy(states[:4] @ weight.T, labels[:4], label_smoothing=smoothing, reduction="sum"),
        )
    assert not gradient[4:].any()


@pytest.fixture
def compiler() -> Iterator[None]:
    yield
    torch.compiler.reset()


def masked_attention(
    queries: Tensor, keys: Tensor, values: Tensor, of_queries: Sentences, of_keys: Sentences, causal: bool
) -> Tensor:
    """`packed_attention` by one large mask, which can be compiled."""
    rows = torch.arange(len(queries))
    sentences = [torch.searchsorted(of.starts, rows, right=True) for of in (of_queries, of_keys)]
    mask = sentences[0][:, None] == sentences[1]
    if causal:
        mask = mask & (rows <= rows[:, None])
    heads = (x.transpose(0, 1) for x in (queries, keys, values))
    return nn.functional.scaled_dot_product_attention(*heads, attn_mask=mask).transpose(0, 1)


@pytest.mark.usefixtures("compiler")
def test_all_layers_and_batches_share_what_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a break: on a GPU each of the three functions is one graph."""
    from torch._dynamo.testing import CompileCounter  # takes seconds, which every worker would need

    model = model_of(replace(PRESETS["tiny"], **SMALL))
    names = list(model.state_dict())
    plain, counter = PackedLoss(model, 0.1), CompileCounter()
    expected = [step(plain, batches(seed, pairs)[1]) for seed, pairs in enumerate((9, 3, 12))]
    monkeypatch.setattr(train.packed, "packed_attention", masked_attention)
    compiled = PackedLoss(model, 0.1, compiled=True, backend=counter)
    for (seed, pairs), right in zip(enumerate((9, 3, 12)), expected, strict=True):
        assert_same_step(step(compiled, batches(seed, pairs)[1]), right)
        assert counter.frame_count == 3  # an encoder layer, a decoder layer, and the cross-entropy
    assert list(model.state_dict()) == names


def test_fit_trains_on_packed_batches(tmp_path: Path, run_fit: Fit) -> None:
    whole = run_fit(tmp_path / "whole", steps=4, bucketing="packed", batch_tokens=200, max_length=60)
    run_fit(tmp_path / "parts", steps=2, bucketing="packed", batch_tokens=200, max_length=60)
    resumed = run_fit(tmp_path / "parts", steps=4, bucketing="packed", batch_tokens=200, max_length=60)
    for one, two in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(one, two)


def test_compile_is_for_packed_batches(prepared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "tiny", "--data", str(prepared), "--run", str(tmp_path), "--device", "cpu", "--compile"]) == 1
    message = "--compile needs --bucketing packed: batches of bucketing longest have too many shapes"
    assert message in capsys.readouterr().err


def test_fit_on_a_cpu_compiles_nothing(prepared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = ["--steps", "1", "--max-length", "60", "--batch-tokens", "200", "--device", "cpu"]
    arguments = ["fit", "tiny", "--data", str(prepared), "--run", str(tmp_path), *settings]
    assert main([*arguments, "--bucketing", "packed", "--compile"]) == 0
    assert "--compile needs a GPU: on cpu nothing is compiled" in capsys.readouterr().err
