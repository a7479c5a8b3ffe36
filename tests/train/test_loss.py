import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import train.loss
from core.model import MAX_LENGTH_DIFFERENCE, Dropout, Transformer
from train.data.token_shards import make_batch
from train.loss import MaskedLoss, TranslationLoss, chunk_rows, loss_module, random_masks, smoothed_cross_entropy


def example(rows: int = 37, width: int = 16, vocab_size: int = 50) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(1)
    states, weight = torch.randn(rows, width, requires_grad=True), torch.randn(vocab_size, width, requires_grad=True)
    return states, weight, torch.randint(vocab_size, (rows,))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.4])
def test_equals_pytorchs_cross_entropy_and_its_gradients(smoothing: float) -> None:
    states, weight, labels = example()
    loss = smoothed_cross_entropy(states[None], weight, labels, smoothing)
    expected = F.cross_entropy(states @ weight.T, labels, label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(loss.smoothed, expected)
    gradients = torch.autograd.grad(3 * loss.smoothed, (states, weight))
    for gradient, right in zip(gradients, torch.autograd.grad(3 * expected, (states, weight)), strict=True):
        torch.testing.assert_close(gradient, right, rtol=1e-5, atol=1e-5)


def test_nll_is_the_plain_likelihood_whatever_the_smoothing() -> None:
    states, weight, labels = example()
    expected = F.cross_entropy(states @ weight.T, labels, reduction="sum")
    for smoothing in (0.0, 0.3):
        loss = smoothed_cross_entropy(states[None], weight, labels, smoothing)
        torch.testing.assert_close(loss.nll, expected)
        assert not loss.nll.requires_grad


def test_chunking_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    states, weight, labels = example()
    results: list[list[Tensor]] = []
    for chunk_logits in (1, 50 * 7, 2**22):
        monkeypatch.setattr(train.loss, "CHUNK_LOGITS", chunk_logits)
        loss = smoothed_cross_entropy(states[None], weight, labels, 0.1)
        results.append([loss.smoothed, loss.nll, *torch.autograd.grad(loss.smoothed, (states, weight))])
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("alpha", [0.0, 5.0])
def test_two_passes_have_their_mean_loss_and_the_divergences_between_them(
    alpha: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train.loss, "CHUNK_LOGITS", 50 * 16)
    first, weight, labels = example()
    states = torch.stack([first, first + torch.randn_like(first) / 2]).detach().requires_grad_()
    loss = smoothed_cross_entropy(states, weight, labels, 0.1, alpha)
    p, q = (states @ weight.T).log_softmax(-1)
    mean = torch.stack([F.nll_loss(x, labels, reduction="sum") * 0.9 - 0.1 * x.mean(-1).sum() for x in (p, q)]).mean()
    divergences = [F.kl_div(x, y, reduction="sum", log_target=True) for x, y in ((p, q), (q, p))]
    expected = mean + alpha / 4 * torch.stack(divergences).sum()
    assert min(divergences) > 1
    torch.testing.assert_close(loss.smoothed, expected)
    gradients = torch.autograd.grad(loss.smoothed, (states, weight))
    for gradient, right in zip(gradients, torch.autograd.grad(expected, (states, weight)), strict=True):
        torch.testing.assert_close(gradient, right, rtol=1e-4, atol=1e-4)


def test_r_drop_runs_a_batch_twice_in_training_alone(tiny_model: Transformer) -> None:
    model = Transformer(replace(tiny_model.config, dropout=0.2))
    batch = make_batch([([5, 6, 7], [8, 9]), ([10] * 9, [11] * 14)])
    without, with_divergence, heavier = (TranslationLoss(model, 0.1, alpha) for alpha in (0.0, 1.0, 2.0))
    assert torch.equal(without.eval()(batch).smoothed, with_divergence.eval()(batch).smoothed)
    losses: list[Tensor] = []
    for loss_of in (with_divergence, heavier):
        torch.manual_seed(0)
        losses.append(loss_of.train()(batch).smoothed)
    assert losses[1] > losses[0]
    for module in model.modules():
        if isinstance(module, Dropout):
            module.p = 0.0
    torch.testing.assert_close(heavier.train()(batch).smoothed, without.eval()(batch).smoothed)


def test_predictions_replace_a_share_of_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train.loss, "CHUNK_LOGITS", 50 * 16)
    states, weight, labels = example()
    other, other_weight = torch.randn(len(labels), 6), torch.randn(len(weight), 6)
    loss = smoothed_cross_entropy(states[None], weight, labels, 0.1, predicted=(other, other_weight, 0.7))
    logits = states @ weight.T
    targets = (labels, 0.3, 0.1), ((other @ other_weight.T).softmax(-1), 0.7, 0.0)
    expected = sum(
        share * F.cross_entropy(logits, target, label_smoothing=smoothing, reduction="sum")
        for target, share, smoothing in targets
    )
    torch.testing.assert_close(loss.smoothed, expected)
    torch.testing.assert_close(loss.nll, F.cross_entropy(logits, labels, reduction="sum"))
    for gradient, right in zip(
        *(torch.autograd.grad(each, (states, weight)) for each in (loss.smoothed, expected)), strict=True
    ):
        torch.testing.assert_close(gradient, right, rtol=1e-4, atol=1e-4)


def test_a_model_that_keeps_what_it_predicts_learns_from_pairs_made_by_rule_alone(tiny_model: Transformer) -> None:
    model = Transformer(replace(tiny_model.config, dropout=0.0))
    keeping, plain = TranslationLoss(model, 0.1, keep=1.0).train(), TranslationLoss(model, 0.1)
    pairs = [([5, 6, 7], [8, 9]), ([10] * 9, [11] * 14)]
    slopes = [
        torch.cat([slope.flatten() for slope in torch.autograd.grad(loss.smoothed, list(model.parameters()))])
        for loss in (
            keeping(make_batch(pairs)),
            keeping(replace(make_batch(pairs), by_rule=torch.tensor([False, True]))),
            plain(make_batch(pairs[1:])),
        )
    ]
    assert slopes[0].abs().max() < 1e-4 < slopes[2].abs().max()
    torch.testing.assert_close(slopes[1], slopes[2], rtol=1e-4, atol=1e-4)
    assert torch.equal(keeping.eval()(make_batch(pairs)).smoothed, plain.eval()(make_batch(pairs)).smoothed)


def test_a_gpu_has_few_large_chunks_and_never_the_logits_of_a_whole_batch() -> None:
    tokens, vocab_size = 25_000, 37_000  # the paper's (5.1)
    rows = chunk_rows(vocab_size, "cuda")
    assert tokens / rows < 10
    assert 4 * rows * vocab_size <= 2**29  # bytes
    assert chunk_rows(2**30, "cuda") == chunk_rows(2**30, "cpu") == 1


def test_under_autocast_the_products_alone_are_rounded() -> None:
    states, weight, labels = example(rows=400)
    exact = smoothed_cross_entropy(states[None], weight, labels, 0.1)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = smoothed_cross_entropy(states[None], weight, labels, 0.1)
    assert rounded.smoothed.dtype == torch.float32
    assert not torch.equal(exact.smoothed, rounded.smoothed)
    torch.testing.assert_close(rounded.smoothed, exact.smoothed, rtol=2e-3, atol=0)
    for gradient, right in zip(
        *(torch.autograd.grad(loss.smoothed, (states, weight)) for loss in (rounded, exact)), strict=True
    ):
        assert gradient.dtype == torch.float32
        torch.testing.assert_close(gradient, right, rtol=0.05, atol=0.05)


def test_a_uniform_model_has_the_loss_of_the_vocabulary() -> None:
    loss = smoothed_cross_entropy(torch.zeros(1, 5, 4), torch.randn(30, 4), torch.arange(5), 0.1)
    assert float(loss.smoothed) == pytest.approx(5 * math.log(30), rel=1e-6)


@pytest.mark.parametrize("changes", [{"tied": "none"}, {"tied": "target", "target_vocab_size": 60}])
def test_the_output_matrix_is_the_models_own(changes: dict[str, Any], tiny_model: Transformer) -> None:
    model = Transformer(replace(tiny_model.config, **changes)).eval()
    batch = make_batch([([5, 6, 7], [8, 9, 10])])
    expected = F.cross_entropy(model(batch.source, batch.target_in)[0], batch.target_out[0], reduction="sum")
    torch.testing.assert_close(TranslationLoss(model, 0.0)(batch).nll, expected)


def test_a_bias_of_the_logits_is_refused(tiny_model: Transformer) -> None:
    with pytest.raises(ValueError, match=r"output_bias \(True\) must be False to train: the loss has no bias"):
        loss_module(Transformer(replace(tiny_model.config, output_bias=True)), 0.1)


def test_padding_adds_nothing(tiny_model: Transformer) -> None:
    loss_of = TranslationLoss(tiny_model, 0.1)
    pairs = [([5, 6, 7], [8, 9]), ([10] * 9, [11] * 14)]
    alone = sum(float(loss_of(make_batch([pair])).smoothed) for pair in pairs)
    assert float(loss_of(make_batch(pairs)).smoothed) == pytest.approx(alone, rel=1e-5)
    assert make_batch(pairs).num_tokens == 2 + 14 + 2


def test_two_half_batches_give_the_gradients_of_the_whole(tiny_model: Transformer) -> None:
    model = Transformer(tiny_model.config).eval()
    loss_of = TranslationLoss(model, 0.1)
    pairs = [([5 + n] * (n + 1), [20 + n] * (2 * n + 1)) for n in range(6)]
    batch = make_batch(pairs)
    (loss_of(batch).smoothed / batch.num_tokens).backward()
    whole = [parameter.grad for parameter in model.parameters()]
    model.zero_grad()
    for half in (pairs[:3], pairs[3:]):
        (loss_of(make_batch(half)).smoothed / batch.num_tokens).backward()
    for parameter, gradient in zip(model.parameters(), whole, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-6)


def test_of_each_target_one_to_all_tokens_are_masked_all_numbers_alike_often() -> None:
    lengths = torch.tensor([0, 1, 4, 7]).repeat(2_000)
    masks = random_masks(lengths, 9, torch.Generator().manual_seed(0))
    assert not (masks & (torch.arange(9) >= lengths[:, None])).any()
    counts = masks.sum(1).view(-1, 4)
    assert not counts[:, 0].any()
    for column, length in ((1, 1), (2, 4), (3, 7)):
        shares = counts[:, column].bincount(minlength=length + 1) / len(counts)
        assert shares.tolist() == pytest.approx([0.0] + [1 / length] * length, abs=0.05)
    shares = masks[3::4, :7].float().mean(0)  # of each position: (7 + 1) / 2 of 7
    assert shares.tolist() == pytest.approx([4 / 7] * 7, abs=0.05)


def test_the_loss_of_masked_tokens_and_of_the_length(tiny_model: Transformer) -> None:
    torch.manual_seed(0)
    model = Transformer(replace(tiny_model.config, mask_id=3, dropout=0.0))
    batch = make_batch([([5, 6, 7], [8, 9, 10, 11]), ([12], [13])])
    loss_of = loss_module(model, 0.1).eval()
    assert isinstance(loss_of, MaskedLoss)
    loss = loss_of(batch)
    assert torch.equal(loss_of(batch).smoothed, loss.smoothed)  # validations mask alike
    masked = random_masks(torch.tensor([4, 1]), 5, torch.Generator().manual_seed(0))
    logits = model(batch.source, batch.target_out.masked_fill(masked, 3))[masked]
    scale, labels = 7 / int(masked.sum()), batch.target_out[masked]
    torch.testing.assert_close(loss.nll, scale * F.cross_entropy(logits, labels, reduction="sum"))
    lengths = model.length_logits(model.encode(batch.source), model.source_mask(batch.source))
    expected = scale * F.cross_entropy(logits, labels, label_smoothing=0.1, reduction="sum") + F.cross_entropy(
        lengths, torch.tensor([1, 0]) + MAX_LENGTH_DIFFERENCE, reduction="sum"
    )
    torch.testing.assert_close(loss.smoothed, expected)
    with pytest.raises(ValueError, match=r"^r_drop \(1.0\) must be 0 for a model without causal mask: its loss has no"):
        loss_module(model, 0.1, 1.0)
    with pytest.raises(
        ValueError, match=r"^keep \(0.5\) must be 0 for a model without causal mask: its loss has no such"
    ):
        loss_module(model, 0.1, keep=0.5)
