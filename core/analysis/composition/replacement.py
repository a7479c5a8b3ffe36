"""Runs of one sentence, with the values that replace the outputs of its components."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from core.analysis.composition.edges import Node, place_of, sender_side
from core.analysis.interventions.continued_runs import head_matrix
from core.analysis.interventions.pair_runs import Metric, PairRuns
from core.analysis.interventions.recorded_runs import check_sources, recorded_passes
from core.analysis.subject import check_position
from core.model import Transformer
from core.translator import Translator

ReplacedBy = Literal["mean", "zero", "sentence"]


@dataclass(frozen=True)
class Replacement:
    """A run, and the values that replace outputs of its components."""

    # run 0 is the sentence's. Of run 1, only the outputs of heads and networks and the embeddings count: those of the
    # second sentence, or their means over the positions of run 0, or zeros.
    runs: PairRuns
    by: ReplacedBy  # where the values are from

    @property
    def metric(self) -> float:
        """Metric of the sentence's run."""
        return self.runs.clean

    def change(self, model: Transformer, sender: Node) -> Tensor:
        """Change that a sender writes to the residual connections, replacement minus output: [L, D].

        A sub-layer is linear in its heads, so a head writes W_O times its output.
        """
        place = place_of(sender)
        if place is None:
            own, other = self.runs.entered[sender_side(sender)]
            return other - own
        if sender.head is None:
            own, other = self.runs.outputs[place]
            return other - own
        own, other = self.runs.of_heads(*place)[:, :, sender.head]
        return (other - own) @ head_matrix(model, *place, sender.head).T


@torch.inference_mode()
def record_replacement(
    translator: Translator,
    source: str,
    target: str | Sequence[int],
    position: int,
    by: ReplacedBy = "mean",
    second: str | None = None,
    token: int | None = None,
    against: int | None = None,
    metric: Metric = "difference",
) -> Replacement:
    """Record the run of a sentence up to a predicted token, and the values that replace the outputs of its components.

    These are the means over the positions of the run, zeros, or the outputs of a second source of as many tokens. A is
    by default the predicted token, B the most probable other one (of the second source if there is one).

    Raises:
        ValueError: as `Translator.explain`; there is no such position or token, A is B, or `second` is missing, not
            needed, or of another length.
    """
    if (second is None) == (by == "sentence"):
        raise ValueError(
            f"outputs are replaced by {by!r} and the second sentence is {second!r}: give one with 'sentence', and only "
            f"there"
        )
    ids, fed, predicted = translator.token_ids(source, target)
    check_position(position, len(predicted))
    others = ids
    if second is not None:
        others = translator.token_ids(second, "").source
        check_sources(translator, ids, others)
    token = predicted[position] if token is None else token
    texts, fed = (source, second or source), fed[: position + 1]
    runs = recorded_passes(translator, texts, (ids, others), fed, token, against, metric)
    return Replacement(runs if by == "sentence" else _with_constants(runs, by), by)


def _with_constants(runs: PairRuns, by: ReplacedBy) -> PairRuns:
    """Runs whose second one has constant outputs: the means over the positions of the first one, or zeros."""

    def both(values: Tensor) -> Tensor:
        own = values[0]
        constant = own.mean(0, keepdim=True) if by == "mean" else torch.zeros_like(own[:1])
        return torch.stack((own, constant.expand_as(own)))

    return replace(
        runs,
        outputs={key: both(values) for key, values in runs.outputs.items()},
        heads={key: both(values) for key, values in runs.heads.items()},
        entered={side: both(values) for side, values in runs.entered.items()},
    )
