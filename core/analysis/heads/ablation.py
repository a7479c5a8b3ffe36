"""Ablation of heads: change of a translation's log-probability without them.

To search for a new translation under gates, or to explain one, see `heads.gated_translation` and `heads.gating`.
"""

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from core.analysis.declaration import Columns, PicturedResult
from core.analysis.heads.gating import Gates, gated, head_gates
from core.analysis.heads.head import all_heads
from core.analysis.pictures import SMALLEST, Cell, Grid, effect_ends, effect_limit, effect_share, short_form
from core.analysis.removals import Removals, left_by_lot, probability_of, token_instead
from core.analysis.subject import check_position
from core.analysis.tokens.words import readable_all
from core.decoding.text_codec import PassIds
from core.text.phrases import Number, Phrase, listed, marked
from core.trace import KIND_NAMES, KINDS, Head, Kind
from core.translator import Translator

BLOCK_TOKENS = 1024  # source and target tokens of a batch; limits how long other threads wait for the lock


@dataclass(frozen=True)
class GateEffect:
    """Effect of gates on the log-probability of a given translation."""

    # [T] log-probability of each predicted token under the gates, in nats; 0 for a forced one
    log_probs: tuple[float, ...]
    changes: tuple[float, ...]  # [T] the same minus the log-probability without gates
    drawn: tuple[float, ...] = ()  # changes of the whole with the same gates on heads drawn by lot

    @property
    def change(self) -> float:
        """Change of the translation's log-probability, in nats."""
        return sum(self.changes)

    def answer(self) -> Phrase:
        """What is left of the translation's probability, beside heads drawn by lot, of which there is one at least."""
        words = marked(
            "With these heads changed, {left} of the translation's probability is left ({change} nats); with as many "
            "drawn by lot, {lot}, the median of {count} draws."
        )
        return left_by_lot(words, self.change, self.drawn)


def token_changes(tokens: Sequence[str], before: Sequence[float], changes: Sequence[float]) -> Columns:
    """A row for each token: its log-probability with all heads on, the change, and the result."""
    after = [old + change for old, change in zip(before, changes, strict=True)]
    return {"token": readable_all(tokens), "log_prob": before, "change": changes, "log_prob_switched": after}


def normalised_by_layer(importance: Mapping[Head, float]) -> dict[Head, float]:
    """Divide importances by the Euclidean norm of their layer (Molchanov et al. 2017).

    Michel et al. 2019 rank heads so. A layer is one layer of one kind of attention; without the division, layers with
    larger gradients rank first. For several sentences, take the mean before the norm.

    Returns:
        From 0 to 1, the squares of a layer summing to 1; a layer of zeros stays zero.
    """
    norms: defaultdict[tuple[Kind, int], float] = defaultdict(float)
    for head, value in importance.items():
        norms[head.kind, head.layer] = math.hypot(norms[head.kind, head.layer], value)
    return {head: value / (norms[head.kind, head.layer] or 1.0) for head, value in importance.items()}


@dataclass(frozen=True)
class HeadsOff(PicturedResult):
    """Change of the log-probability of a translation, in nats, with each head turned off alone."""

    heads: Sequence[Head]  # all of the model, layer by layer
    # what the output of the heads is multiplied by that are switched now, 0 to 1; they are named
    gates: Mapping[Head, float]
    changes: Mapping[Head, float]  # of the heads that are measured
    # of each head by the gradient, in nats a token; None if it is not known
    importance: Mapping[Head, float] | None = None

    @property
    def ranked(self) -> list[Head]:
        """The measured heads, the most harmful to turn off first."""
        return sorted(self.changes, key=self.changes.__getitem__)

    @property
    def importance_in_layer(self) -> Mapping[Head, float]:
        """Importance divided by the Euclidean norm of its layer's; empty if it is not known."""
        return normalised_by_layer(self.importance) if self.importance else {}

    def table(self) -> Columns:
        """A row for each head, counted from 0: its gate (1: unchanged), and what is known of it."""
        known: dict[str, Mapping[Head, float]] = {"change_when_off": self.changes}
        if self.importance is not None:
            known |= {"importance": self.importance, "within_layer": self.importance_in_layer}
        columns: dict[str, Sequence[object]] = {
            name: [getattr(head, name) for head in self.heads] for name in ("kind", "layer", "head")
        }
        columns["gate"] = [self.gates.get(head, 1.0) for head in self.heads]
        return columns | {name: [values.get(head) for head in self.heads] for name, values in known.items()}

    def pictures(self, at: Head | None = None) -> tuple[Grid, ...]:
        """A row for each layer: of each kind a cell that stands for all heads, and one for each of them."""
        limit = effect_limit(list(self.changes.values()))
        widths: dict[Kind, int] = {}
        for head in self.heads:
            widths[head.kind] = max(widths.get(head.kind, 0), head.head + 1)
        rows: list[tuple[str, list[Cell | None]]] = []
        for layer in range(1 + max(head.layer for head in self.heads)):
            cells = {head: self._cell(head, limit) for head in self.heads if head.layer == layer}
            row: list[Cell | None] = []
            for kind, width in widths.items():
                of_kind = [cells.get(Head(kind, layer, head)) for head in range(width)]
                row += [_ALL if any(of_kind) else None, *of_kind]
            rows.append((f"L{layer + 1}", row))
        words = marked("change of the log-probability in nats with this head alone off; the scale is logarithmic")
        ends = effect_ends(limit)
        grid = Grid(
            title=Phrase(marked("Switches")),
            legend=Phrase(words),
            ends=(
                Phrase(marked("less probable {limit}"), limit=ends[0]),
                Phrase(marked("{limit} more probable"), limit=ends[1]),
            ),
            scale="diverging",
            columns=[each for width in widths.values() for each in ("", *(f"H{head + 1}" for head in range(width)))],
            rows=rows,
            groups=[(Phrase(KIND_NAMES[kind]), 1 + width) for kind, width in widths.items()],
        )
        return (grid,)

    def heads_at(self, place: tuple[int, int]) -> list[Head]:
        """The head of a cell, or all heads of the layer of one that stands for them."""
        row, column = place
        cells = self.pictures()[0].rows[row][1]
        if (cell := cells[column]) and cell.head:
            return [cell.head]
        after = cells[column + 1]
        return [head for head in self.heads if after and after.head and head[:2] == after.head[:2]]

    def _cell(self, head: Head, limit: float) -> Cell:
        gate, change = self.gates.get(head, 1.0), self.changes.get(head)
        text = says = Phrase(marked("off"))
        if gate:
            text = Number(gate, ".1f")
            says = Phrase(marked("scaled by {factor}"), factor=Number(gate, ".2f"))
        if gate == 1:
            text = "" if change is None or abs(change) < SMALLEST else Number(change, short_form(change))
            says = Phrase(marked("on"))
        if change is not None:
            says = listed((says, Phrase(marked("off alone: {effect} nats"), effect=Number(change, "+.3f"))))
        return Cell(text=text, says=says, shade=effect_share(change or 0.0, limit), head=head, is_strong=gate != 1)

    def answer(self, at: Head | None = None) -> str:
        """The head without which the translation is least probable, beside one drawn by lot."""
        if not self.changes:
            return Phrase(marked("No head is measured yet."))
        what = Phrase(marked("the relative probability of the translation"))
        left = [math.exp(change) for change in self.changes.values()]
        return Removals("head", what, 1.0, [head.title for head in self.changes], left).answer()


_ALL = Cell(text=Phrase(marked("all")), says=Phrase(marked("All heads of this layer")), shade=0.0)


def gate_effect(
    translator: Translator, source: str, target: str | Sequence[int], gates: Gates, draws: int = 0
) -> GateEffect:
    """Score a given translation with and without gates.

    Args:
        draws: how often the same gates are tried on as many heads of the same kinds, drawn by lot.

    Raises:
        ValueError: as `Translator.explain` and `head_gates`.
    """
    shuffled, heads = random.Random(0), all_heads(translator.model)

    def scored(gates: Gates) -> tuple[float, ...]:
        with gated(translator, gates):
            return translator.explain(source, target).log_probs

    def by_lot() -> Gates:
        shuffled.shuffle(heads)
        of_kind = {kind: iter([head for head in heads if head.kind == kind]) for kind in KINDS}
        return {next(of_kind[head.kind]): gate for head, gate in gates.items()}

    before, after = scored({}), scored(gates)
    drawn = tuple(sum(scored(by_lot())) - sum(before) for _ in range(draws))
    return GateEffect(after, tuple(new - old for new, old in zip(after, before, strict=True)), drawn)


def ablate_each_head(
    translator: Translator, source: str, target: str | Sequence[int]
) -> Iterator[tuple[Head, GateEffect]]:
    """Score a given translation with each head turned off alone, as in Michel et al. 2019 and Voita et al. 2019.

    The rows of a batch have different gates. The model's lock is released between batches. Stop iterating to cancel.

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
            yield head, GateEffect(tuple(log_probs.tolist()), tuple((log_probs - before).tolist()))


def head_removals(translator: Translator, source: str, target: str | Sequence[int], position: int) -> Removals:
    """The probability of the predicted token at a position, counted from 0, with each head turned off alone.

    Raises:
        ValueError: as `Translator.explain`, or there is no such position.
    """
    source_ids, fed, predicted = translator.token_ids(source, target)
    check_position(position, len(predicted))
    heads, effects = zip(*ablate_each_head(translator, source, target), strict=True)
    after = [math.exp(effect.log_probs[position]) for effect in effects]
    before = math.exp(effects[0].log_probs[position] - effects[0].changes[position])
    what = probability_of(translator, fed[: position + 1], predicted[position])
    gate = torch.tensor([0.0, 1.0])  # of the head without which least is left, and of all as they are
    with (
        translator.inspect() as model,
        head_gates(model, {heads[after.index(min(after))]: gate}),
        torch.inference_mode(),
    ):
        logits = model(*(translator.batch([each] * 2) for each in (source_ids, fed)))[:, position]
    instead = token_instead(translator, logits, predicted[position])
    return Removals("head", what, before, [head.title for head in heads], after, instead)


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
        is_one = not any(head.kind == "encoder_self" for head in off)  # so one row of the encoder stands for all
        source_ids = torch.tensor(ids.source, device=model.device).expand(1 if is_one else rows, -1)
        memory, mask = model.encode(source_ids).expand(rows, -1, -1), model.source_mask(source_ids)
        fed_ids = torch.tensor(ids.fed, device=model.device).expand(rows, -1)
        logits = model.project(model.decode(fed_ids, memory, mask)).float()  # [rows, T, V]
    wanted = torch.tensor(ids.predicted, device=logits.device)[:, None].expand(rows, -1, 1)
    log_probs = logits.gather(-1, wanted).squeeze(-1) - logits.logsumexp(-1)
    log_probs[:, :forced] = 0
    return log_probs.cpu()
