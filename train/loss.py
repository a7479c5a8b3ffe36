"""Label-smoothed cross-entropy (5.4), computed in chunks, so that the logits of a batch are never in memory at once.

The labels are next tokens or, for models without causal mask, masked tokens.
"""

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable
from torch.nn import functional as F

from core.model import MAX_LENGTH_DIFFERENCE, Transformer
from core.model.training import smoothed_nll
from train.data.token_shards import Batch

# Logits per chunk. CPU: 16 MiB in float32, which fits its cache. Other devices: half a GiB, so that a batch of the
# paper's size is a few large products instead of hundreds of small ones; the fastest size has not been measured.
CHUNK_LOGITS, LARGE_CHUNK_LOGITS = 2**22, 2**27
# Of another model: states [N, D], weight [V, D], and the share of the target distribution that its predictions are.
Predicted = tuple[Tensor, Tensor, float]


@dataclass(frozen=True)
class Loss:
    """Sums over the target tokens, in nats; divide by `num_tokens` for means."""

    smoothed: Tensor  # the training objective
    nll: Tensor  # negative log-likelihood without smoothing; perplexity is exp(nll / num_tokens)


class TranslationLoss(nn.Module):
    """A model with its loss as one module, which DistributedDataParallel can wrap.

    Args:
        r_drop: alpha of R-Drop (Liang et al. 2021), in training only: the batch runs twice, with different dropout, and
            the loss is the mean of both plus alpha / 4 times the two Kullback-Leibler divergences between them, which
            is half the paper's sum; 0 turns it off.
        keep: the share of the target distribution that is what the model predicts now, in training only: pairs made by
            rule teach something new, and on the others it must not forget what it knows (Li and Hoiem 2016).
    """

    def __init__(self, model: Transformer, label_smoothing: float, r_drop: float = 0.0, keep: float = 0.0) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = label_smoothing
        self.r_drop = r_drop
        self.keep, self.kept = keep, copy.deepcopy(model).requires_grad_(False) if keep else None

    def forward(self, batch: Batch) -> Loss:
        passes = 2 if self.r_drop and self.training else 1
        source, target_in, target_out = (
            ids.repeat(passes, *[1] * (ids.dim() - 1)) for ids in (batch.source, batch.target_in, batch.target_out)
        )
        memory = self.model.encode(source)
        states = self.model.decode(target_in, memory, self.model.source_mask(source))
        real = target_out != self.model.config.pad_id
        states, labels = states[real].view(passes, -1, states.size(-1)), batch.target_out[real[: len(batch.source)]]
        weight, smoothing, r_drop = self.model.unembedding, self.label_smoothing, self.r_drop
        if self.kept is None or not self.training:
            return smoothed_cross_entropy(states, weight, labels, smoothing, r_drop)
        kept, real = self.kept.eval(), real[: len(batch.source)]
        rows = torch.ones_like(real[:, 0]) if batch.by_rule is None else ~batch.by_rule
        with torch.no_grad():
            source = batch.source[rows]
            other = kept.decode(batch.target_in[rows], kept.encode(source), kept.source_mask(source))[real[rows]]
        is_text = rows[:, None].expand_as(real)[real]
        text, new = (
            smoothed_cross_entropy(states[:, part], weight, labels[part], smoothing, r_drop, predicted)
            for part, predicted in ((is_text, (other, kept.unembedding, self.keep)), (~is_text, None))
        )
        return Loss(text.smoothed + new.smoothed, text.nll + new.nll)


class MaskedLoss(nn.Module):
    """A model without causal mask with its loss, as `TranslationLoss`.

    The loss is that of Ghazvininejad et al. 2019 (section 2.2). Of each target's N tokens n are masked, n uniform from
    1 to N, and predicted from the others; `</s>` is always given. The sums are scaled to all tokens, each with the mean
    loss of the masked ones. The objective also has the negative log-likelihood of the length, given the source.
    """

    def __init__(self, model: Transformer, label_smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = label_smoothing

    def forward(self, batch: Batch) -> Loss:
        model, config, labels = self.model, self.model.config, batch.target_out
        assert config.mask_id is not None
        memory, memory_mask = model.encode(batch.source), model.source_mask(batch.source)
        generator = None if self.training else torch.Generator().manual_seed(0)  # the same at every validation
        masked = random_masks(((labels != config.pad_id).sum(1) - 1).cpu(), labels.size(1), generator).to(labels.device)
        states = model.decode(labels.masked_fill(masked, config.mask_id), memory, memory_mask)[masked]
        loss = smoothed_cross_entropy(states[None], model.unembedding, labels[masked], self.label_smoothing)
        scale = batch.num_tokens / masked.sum().clamp(min=1)
        differences = (labels != config.pad_id).sum(1) - model.is_real(batch.source).sum(1)
        classes = differences.clamp(-MAX_LENGTH_DIFFERENCE, MAX_LENGTH_DIFFERENCE) + MAX_LENGTH_DIFFERENCE
        length_nll = F.cross_entropy(model.length_logits(memory, memory_mask).float(), classes, reduction="sum")
        return Loss(loss.smoothed * scale + length_nll, loss.nll * scale)


def random_masks(lengths: Tensor, width: int, generator: torch.Generator | None = None) -> Tensor:
    """Mask n of the first N positions of each row, n uniform from 1 to N, on the CPU: N [B] -> [B, width] boolean."""
    counts = (torch.rand(len(lengths), generator=generator) * lengths).long() + 1
    order = torch.rand(len(lengths), width, generator=generator)
    inside = torch.arange(width) < lengths[:, None]
    ranks = order.masked_fill(~inside, 1.0).argsort(dim=1).argsort(dim=1)
    return inside & (ranks < counts[:, None])


def loss_module(
    model: Transformer, label_smoothing: float, r_drop: float = 0.0, keep: float = 0.0
) -> "TranslationLoss | MaskedLoss":
    """Return a model with the loss that fits it.

    Raises:
        ValueError: there is no R-Drop for this model, its predictions cannot be kept, or its logits have a bias.
    """
    if model.config.output_bias:
        raise ValueError("output_bias (True) must be False to train: the loss has no bias of the logits")
    if model.config.autoregressive:
        return TranslationLoss(model, label_smoothing, r_drop, keep)
    for name, value in (("r_drop", r_drop), ("keep", keep)):
        if value:
            raise ValueError(f"{name} ({value}) must be 0 for a model without causal mask: its loss has no such part")
    return MaskedLoss(model, label_smoothing)


def smoothed_cross_entropy(
    states: Tensor,
    weight: Tensor,
    labels: Tensor,
    label_smoothing: float,
    r_drop: float = 0.0,
    predicted: Predicted | None = None,
) -> Loss:
    """Cross-entropy of softmax(states weight^T) with a smoothed label (Szegedy et al. 2015), the mean over passes.

    The target distribution is (1 - e) times the label plus e times the uniform distribution. With two passes, `r_drop`
    / 4 times the divergences KL(p || q) + KL(q || p) of their predictions are added (Liang et al. 2021).

    Args:
        states: [P, N, D] of P = 1 or 2 passes
        weight: [V, D]
        labels: [N] integers below V
        label_smoothing: e, in [0, 1)
        r_drop: alpha, not negative; without effect on a single pass
        predicted: of another model, whose predictions replace a share of the target distribution
    """
    return Loss(*_ChunkedCrossEntropy.apply(states, weight, labels, label_smoothing, r_drop, predicted))  # type: ignore[misc]


def chunk_rows(vocab_size: int, device: str) -> int:
    """Return the number of tokens per chunk on a type of device, such as `cpu`."""
    return max(1, (CHUNK_LOGITS if device == "cpu" else LARGE_CHUNK_LOGITS) // vocab_size)


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Computes each chunk's gradient together with its logits in the forward pass, and keeps only gradients."""

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        states: Tensor,
        weight: Tensor,
        labels: Tensor,
        smoothing: float,
        r_drop: float,
        predicted: Predicted | None,
    ) -> tuple[Tensor, Tensor]:
        device, passes = states.device.type, states.size(0)
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else states.dtype
        needs_grad = any(ctx.needs_input_grad)  # type: ignore[attr-defined]
        vocab_size = weight.size(0)
        rows = max(1, chunk_rows(vocab_size, device) // passes)
        small_states, small_weight = states.to(dtype), weight.to(dtype)
        grad_states, grad_weight = torch.empty_like(small_states), torch.zeros_like(weight, dtype=torch.float32)
        smoothed, nll = torch.zeros((2,), dtype=torch.float32, device=states.device)
        other, other_weight, keep = predicted or (states[0, :, :0], weight[:, :0], 0.0)
        small_other_weight = other_weight.to(dtype)
        parts = small_states, grad_states, labels.unsqueeze(-1), other.to(dtype)
        with torch.autocast(device, enabled=False):
            for x, grad_x, label, y in zip(*(part.split(rows, dim=-2) for part in parts), strict=True):
                label = label.expand(passes, -1, -1)  # [P, rows, 1]
                logits = (x @ small_weight.T).float()  # [P, rows, V]
                log_total = logits.logsumexp(-1, keepdim=True)
                label_nll = (log_total - logits.gather(-1, label)).sum() / passes
                uniform_nll = (log_total.squeeze(-1) - logits.mean(-1)).sum() / passes
                nll = nll + label_nll
                smoothed = smoothed + (1 - keep) * smoothed_nll(label_nll, uniform_nll, smoothing)
                log_probs = logits.sub_(log_total)
                target = (y @ small_other_weight.T).float().softmax(-1).mul_(keep) if keep else None  # [rows, V]
                if target is not None:
                    smoothed = smoothed - (target * log_probs).sum() / passes
                divergence = _Divergence(log_probs) if passes == 2 and r_drop else None
                if divergence:
                    smoothed = smoothed + r_drop / 4 * divergence.sum()
                if needs_grad:  # softmax minus the target distribution
                    slope = divergence.gradient().mul_(r_drop / 4) if divergence else None
                    grad = log_probs.exp_().sub_((1 - keep) * smoothing / vocab_size)
                    grad.scatter_add_(-1, label, grad.new_full(label.shape, (1 - keep) * (smoothing - 1)))
                    if target is not None:
                        grad -= target
                    if passes > 1:
                        grad /= passes
                    if slope is not None:
                        grad += slope
                    grad = grad.to(dtype)
                    for one, out in zip(grad, grad_x, strict=True):
                        torch.mm(one, small_weight, out=out)
                    if ctx.needs_input_grad[1]:  # type: ignore[attr-defined]
                        grad_weight += grad.flatten(0, 1).T @ x.flatten(0, 1)
        ctx.save_for_backward(grad_states.to(states.dtype), grad_weight.to(weight.dtype))  # type: ignore[attr-defined]
        ctx.mark_non_differentiable(nll)  # type: ignore[attr-defined]
        return smoothed, nll

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]  # hidden by the decorator
        ctx: FunctionCtx, *grad_outputs: Tensor
    ) -> tuple[Tensor, Tensor, None, None, None, None]:
        grad_states, grad_weight = ctx.saved_tensors  # type: ignore[attr-defined]
        return grad_states * grad_outputs[0], grad_weight * grad_outputs[0], None, None, None, None


class _Divergence:
    """KL(p || q) + KL(q || p) of the predictions of two passes, log p and log q [2, N, V], token by token."""

    def __init__(self, log_probs: Tensor) -> None:
        self._probs = log_probs.exp()
        self._ratios = log_probs[0] - log_probs[1]  # log p / q
        self._kl = torch.stack(  # [2, N, 1]
            [(self._probs[0] * self._ratios).sum(-1), -(self._probs[1] * self._ratios).sum(-1)]
        ).unsqueeze(-1)

    def sum(self) -> Tensor:
        return self._kl.sum()

    def gradient(self) -> Tensor:
        """Return the gradients with respect to the logits, [2, N, V]."""
        difference = self._probs[0] - self._probs[1]
        own = torch.stack([self._ratios - self._kl[0], -self._ratios - self._kl[1]]) * self._probs
        return own + torch.stack([difference, -difference])
