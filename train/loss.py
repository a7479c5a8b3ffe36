"""Label-smoothed cross-entropy (5.4), computed in chunks: the logits of a batch are never in memory at once."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable

from core.model import Transformer
from train.data.token_shards import Batch

# Logits per chunk. CPU: 16 MiB in float32, which fits its cache. Other devices: half a GiB, so that a batch of the
# paper's size is a few large products instead of hundreds of small ones; the fastest size has not been measured.
CHUNK_LOGITS, LARGE_CHUNK_LOGITS = 2**22, 2**27


@dataclass(frozen=True)
class Loss:
    """Sums over the target tokens, in nats; divide by `num_tokens` for means."""

    smoothed: Tensor  # the training objective
    nll: Tensor  # negative log-likelihood without smoothing; perplexity is exp(nll / num_tokens)


class TranslationLoss(nn.Module):
    """A model with its loss as one module, which DistributedDataParallel can wrap."""

    def __init__(self, model: Transformer, label_smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = label_smoothing

    def forward(self, batch: Batch) -> Loss:
        memory = self.model.encode(batch.source)
        states = self.model.decode(batch.target_in, memory, self.model.source_mask(batch.source))
        real = batch.target_out != self.model.config.pad_id
        return smoothed_cross_entropy(
            states[real], self.model.embedding.tokens.weight, batch.target_out[real], self.label_smoothing
        )


def smoothed_cross_entropy(states: Tensor, weight: Tensor, labels: Tensor, label_smoothing: float) -> Loss:
    """Cross-entropy of softmax(states weight^T) with a smoothed label (Szegedy et al. 2015).

    The target distribution is (1 - e) times the label plus e times the uniform distribution.

    Args:
        states: [N, D]
        weight: [V, D]
        labels: [N] integers below V
        label_smoothing: e, in [0, 1)
    """
    smoothed, nll = _ChunkedCrossEntropy.apply(states, weight, labels, label_smoothing)  # type: ignore[misc]
    return Loss(smoothed, nll)


def chunk_rows(vocab_size: int, device: str) -> int:
    """Return the number of tokens per chunk on a type of device, such as `cpu`."""
    return max(1, (CHUNK_LOGITS if device == "cpu" else LARGE_CHUNK_LOGITS) // vocab_size)


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Computes each chunk's gradient together with its logits in the forward pass, and keeps only gradients."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, states: Tensor, weight: Tensor, labels: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        device = states.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else states.dtype
        needs_grad = any(ctx.needs_input_grad)  # type: ignore[attr-defined]
        rows, vocab_size = chunk_rows(weight.size(0), device), weight.size(0)
        small_states, small_weight = states.to(dtype), weight.to(dtype)
        grad_states, grad_weight = torch.empty_like(small_states), torch.zeros_like(weight, dtype=torch.float32)
        smoothed, nll = torch.zeros((2,), dtype=torch.float32, device=states.device)
        with torch.autocast(device, enabled=False):
            for x, label, grad_x in zip(
                small_states.split(rows), labels.split(rows), grad_states.split(rows), strict=True
            ):
                logits = (x @ small_weight.T).float()  # [rows, V]
                log_total = logits.logsumexp(-1, keepdim=True)
                label_nll = (log_total - logits.gather(-1, label[:, None])).sum()
                uniform_nll = (log_total.squeeze(-1) - logits.mean(-1)).sum()
                nll = nll + label_nll
                smoothed = smoothed + (1 - smoothing) * label_nll + smoothing * uniform_nll
                if needs_grad:  # softmax minus the smoothed label
                    grad = logits.sub_(log_total).exp_().sub_(smoothing / vocab_size)
                    grad.scatter_add_(-1, label[:, None], grad.new_full((len(label), 1), smoothing - 1))
                    grad = grad.to(dtype)
                    torch.mm(grad, small_weight, out=grad_x)
                    grad_weight += grad.T @ x
        ctx.save_for_backward(grad_states.to(states.dtype), grad_weight.to(weight.dtype))  # type: ignore[attr-defined]
        ctx.mark_non_differentiable(nll)  # type: ignore[attr-defined]
        return smoothed, nll

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]  # hidden by the decorator
        ctx: FunctionCtx, *grad_outputs: Tensor
    ) -> tuple[Tensor, Tensor, None, None]:
        grad_states, grad_weight = ctx.saved_tensors  # type: ignore[attr-defined]
        return grad_states * grad_outputs[0], grad_weight * grad_outputs[0], None, None
