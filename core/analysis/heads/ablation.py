"""Turning heads off: what the translation's probability loses with each.

To see the new translation itself, or to explain under gates, use `heads.gated`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.analysis.heads.gating import Gates, gated, head_gates
from core.analysis.heads.head import Head, all_heads
from core.model import Transformer
from core.translator import Translator

BLOCK_TOKENS = 1024  # source and target tokens that go through the model at once: what others wait for the lock at most


@dataclass(frozen=True)
class GateEffect:
    """What gates do to the probability of a given translation.

    Attributes:
        log_probs: [T] of each predicted token under the gates, in nats.
        changes: [T] of each predicted token: with the gates minus without.
    """

    log_probs: tuple[float, ...]
    changes: tuple[float, ...]

    @property
    def change(self) -> float:
        """Of the whole translation's log-probability, in nats; below 0 where the gates made it less probable."""
        return sum(self.changes)


def gate_effect(translator: Translator, source: str, target: str | Sequence[int], gates: Gates) -> GateEffect:
    """Score a given translation with and without gates.

    Raises:
        ValueError: as `Translator.explain`, and as `head_gates`.
    """
    before = translator.explain(source, target).log_probs
    with gated(translator, gates):
        after = translator.explain(source, target).log_probs
    return GateEffect(after, tuple(new - old for new, old in zip(after, before, strict=True)))


def each_head_off(
    translator: Translator, source: str, target: str | Sequence[int]
) -> Iterator[tuple[Head, GateEffect]]:
    """Score a given translation with every head off alone (Michel et al. 2019; Voita et al. 2019).

    Several heads are tried at once, as rows of a batch whose gates differ. The model is free for others between
    batches, and who stops asking stops the work.

    Yields:
        The heads in the order of `all_heads`, each with its effect.

    Raises:
        ValueError: as `Translator.explain`.
    """
    source_ids, fed, predicted = translator.token_ids(source, target)
    before = _log_probs(translator, source_ids, fed, predicted, [])[0]
    heads = all_heads(translator.model)
    size = max(1, BLOCK_TOKENS // (len(source_ids) + len(fed)))
    for start in range(0, len(heads), size):
        block = heads[start : start + size]
        after = _log_probs(translator, source_ids, fed, predicted, block)
        for head, log_probs in zip(block, after, strict=True):
            yield head, GateEffect(_floats(log_probs), _floats(log_probs - before))


@torch.inference_mode()
def _log_probs(
    translator: Translator, source_ids: list[int], fed: list[int], predicted: list[int], off: Sequence[Head]
) -> Tensor:
    """Of each predicted token, with the heads in `off` off, one in each row of a batch: [len(off) or 1, T]."""
    rows = max(1, len(off))
    with (
        translator.inspect() as model,
        head_gates(model, {head: torch.arange(rows) != row for row, head in enumerate(off)}),
    ):
        memory, mask = _encode(model, source_ids, rows, any(head.kind == "encoder_self" for head in off))
        fed_ids = torch.tensor(fed, device=model.device).expand(rows, -1)
        logits = model.project(model.decode(fed_ids, memory, mask)).float()  # [rows, T, V]
    wanted = torch.tensor(predicted, device=logits.device)[:, None].expand(rows, -1, 1)
    return (logits.gather(-1, wanted).squeeze(-1) - logits.logsumexp(-1)).cpu()


def _encode(model: Transformer, source_ids: list[int], rows: int, differs: bool) -> tuple[Tensor, Tensor]:
    """The memory of each row and its mask; where no encoder head is off, all rows share one."""
    ids = torch.tensor(source_ids, device=model.device).expand(rows if differs else 1, -1)
    return model.encode(ids).expand(rows, -1, -1), model.source_mask(ids)


def _floats(values: Tensor) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
