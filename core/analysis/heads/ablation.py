"""Ablation of heads: change of a translation's log-probability without them.

To search for a new translation under gates, or to explain one, see `heads.gated_translation` and `heads.gating`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from core.analysis.heads.gating import Gates, gated, head_gates
from core.analysis.heads.head import all_heads
from core.decoding.text_codec import PassIds
from core.model import Transformer
from core.trace import Head
from core.translator import Translator

BLOCK_TOKENS = 1024  # source and target tokens of a batch; limits how long other threads wait for the lock


@dataclass(frozen=True)
class GateEffect:
    """Effect of gates on the log-probability of a given translation.

    Attributes:
        log_probs: [T] log-probability of each predicted token under the gates, in nats; 0 for a forced one.
        changes: [T] the same minus the log-probability without gates.
    """

    log_probs: tuple[float, ...]
    changes: tuple[float, ...]

    @property
    def change(self) -> float:
        """Change of the translation's log-probability, in nats."""
        return sum(self.changes)


def gate_effect(translator: Translator, source: str, target: str | Sequence[int], gates: Gates) -> GateEffect:
    """Score a given translation with and without gates.

    Raises:
        ValueError: as `Translator.explain` and `head_gates`.
    """
    before = translator.explain(source, target).log_probs
    with gated(translator, gates):
        after = translator.explain(source, target).log_probs
    return GateEffect(after, tuple(new - old for new, old in zip(after, before, strict=True)))


def ablate_each_head(
    translator: Translator, source: str, target: str | Sequence[int]
) -> Iterator[tuple[Head, GateEffect]]:
    """Score a given translation with each head turned off alone, as in Michel et al. 2019 and Voita et al. 2019.

    Several heads are tried at once: the rows of a batch have different gates. The lock on the model is released between
    batches. Stop iterating to cancel the rest.

    Yields:
        Each head with its effect, in the order of `all_heads`.

    Raises:
        ValueError: as `Translator.explain`.
    """
    ids = translator.token_ids(source, target)
    forced = translator.codec.num_forced(ids.predicted, source)
    before = _log_probs(translator, ids, forced, [])[0]
    heads = all_heads(translator.model)
    size = max(1, BLOCK_TOKENS // (len(ids.source) + len(ids.fed)))
    for start in range(0, len(heads), size):
        block = heads[start : start + size]
        after = _log_probs(translator, ids, forced, block)
        for head, log_probs in zip(block, after, strict=True):
            yield head, GateEffect(_floats(log_probs), _floats(log_probs - before))


def head_changes(
    translator: Translator, source: str, target: str | Sequence[int], count: int | None = None
) -> dict[Head, float]:
    """Change of the log-probability with each head off alone, of all heads or of the first ones, in nats."""
    effects = islice(ablate_each_head(translator, source, target), count)
    return {head: effect.change for head, effect in effects}


@torch.inference_mode()
def _log_probs(translator: Translator, ids: PassIds, forced: int, off: Sequence[Head]) -> Tensor:
    """Log-probabilities of the predicted tokens, 0 of forced ones, each row with one head off: [len(off) or 1, T]."""
    rows = max(1, len(off))
    with (
        translator.inspect() as model,
        head_gates(model, {head: torch.arange(rows) != row for row, head in enumerate(off)}),
    ):
        memory, mask = _encode(model, ids.source, rows, any(head.kind == "encoder_self" for head in off))
        fed_ids = torch.tensor(ids.fed, device=model.device).expand(rows, -1)
        logits = model.project(model.decode(fed_ids, memory, mask)).float()  # [rows, T, V]
    wanted = torch.tensor(ids.predicted, device=logits.device)[:, None].expand(rows, -1, 1)
    log_probs = logits.gather(-1, wanted).squeeze(-1) - logits.logsumexp(-1)
    log_probs[:, :forced] = 0
    return log_probs.cpu()


def _encode(model: Transformer, source_ids: list[int], rows: int, differs: bool) -> tuple[Tensor, Tensor]:
    """Memory of each row and its mask; one row for all if encoder gates are equal."""
    ids = torch.tensor(source_ids, device=model.device).expand(rows if differs else 1, -1)
    return model.encode(ids).expand(rows, -1, -1), model.source_mask(ids)


def _floats(values: Tensor) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
