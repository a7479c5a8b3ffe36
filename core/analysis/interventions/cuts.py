"""Cuts: attention weights set to 0 or another number, after which everything is computed again.

A cut may set weights, rows, columns or whole heads. With S the keys of a row a whose weights it sets to v in all,

    a'_k = v a_k / sum over S of a_j                 k in S; equal shares if the sum is 0
    a'_k = a_k (1 - v) / (1 - sum over S of a_j)     other k, if the rest of the row is scaled; else a_k

where each a_k is taken after the softmax. With v = 0 and the rest scaled, the row is the softmax over the other keys:
the attention knockout of Geva et al. 2023 ("Dissecting Recall of Factual Associations in Auto-Regressive Language
Models"), who set scores to minus infinity before the softmax, in all heads of several layers. Without scaling the rest,
the row sums to less than 1, which is another intervention.

A cut shows which outputs depend on these weights in this model. The model never saw such weights in training, so it
does not show how a model trained without them would behave.
"""

import math
import re
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from core.analysis.agreement import require_agreement
from core.analysis.declaration import Columns
from core.analysis.heads.head import attention_layers
from core.analysis.removals import left_by_lot
from core.capture import attention_mask, full_mask
from core.model import Transformer
from core.results import Explanation
from core.text.phrases import Phrase, marked
from core.trace import HEAD_PATTERN, Edit, Head, Kind, attention_place, edit, parse_head
from core.translator import Translator

_NUMBER = r"[1-9]\d{0,3}"
_NAME = re.compile(
    rf"(?P<head>{HEAD_PATTERN})"
    rf"(?: row (?P<row>{_NUMBER})(?:-(?P<last_row>{_NUMBER}))?)?"
    rf"(?: column (?P<column>{_NUMBER})(?:-(?P<last_column>{_NUMBER}))?)?"
    r"(?: to (?P<value>[01](?:\.\d{1,6})?))?(?P<rest> rest)?"
)


@dataclass(frozen=True)
class Cut:
    """Weights of one head that are set.

    In each of its rows, the weights at its keys are scaled so that they sum to `value`; if they are all 0, they share
    it equally. A value of 0 removes them, and with one key the weight becomes `value`. Masked keys stay 0.

    Raises:
        ValueError: `value` or a range is not valid.
    """

    head: Head  # the head
    rows: range | None = None  # positions of its rows, queries of the attention; None for all
    keys: range | None = None  # positions of its columns; None for all
    value: float = 0.0  # from 0 to 1
    # the other weights of each row are scaled so that it sums to 1 again, if any of them is above 0
    renormalise: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and 0 <= self.value <= 1):
            raise ValueError(f"a weight is set to {self.value}, expected a number from 0 to 1")
        for name, positions in (("rows", self.rows), ("columns", self.keys)):
            if positions is not None and (positions.start < 0 or len(positions) == 0):
                raise ValueError(f"the {name} of a cut are {positions}, expected positions from 0 on, at least one")

    def __str__(self) -> str:
        """Name for `parse_cut`, counted from 1: `cross L5 H3 row 4 column 2-3 to 0.5 rest`."""
        parts = [str(self.head)]
        for name, positions in (("row", self.rows), ("column", self.keys)):
            if positions is not None:
                last = f"-{positions.stop}" if len(positions) > 1 else ""
                parts.append(f"{name} {positions.start + 1}{last}")
        if self.value:
            parts.append(f"to {f'{self.value:.6f}'.rstrip('0').rstrip('.')}")
        return " ".join([*parts, *(["rest"] if self.renormalise else [])])


def parse_cut(name: str) -> Cut:
    """Parse the name of a cut, see `Cut.__str__`.

    Raises:
        ValueError: it is not the name of a cut.
    """
    parts = _NAME.fullmatch(name.strip())
    if parts is None:
        raise ValueError(
            f"{name!r} is not a cut: expected a head with a row and a column, counted from 1, such as "
            f"'cross L5 H3 row 4 column 2'; without a row or a column all are cut, 'to 0.5' sets another number than "
            f"0, and 'rest' scales the rest of the row"
        )

    def positions(first: str | None, last: str | None) -> range | None:
        return None if first is None else range(int(first) - 1, int(last or first))

    return Cut(
        parse_head(parts["head"]),
        positions(parts["row"], parts["last_row"]),
        positions(parts["column"], parts["last_column"]),
        float(parts["value"] or 0),
        bool(parts["rest"]),
    )


def apply_cuts(weights: Tensor, cuts: Sequence[Cut], visible: Tensor) -> Tensor:
    """A copy of the weights [..., Q, K] of one head with those of its cuts set; `visible` [Q, K] marks allowed keys.

    Cuts apply in their order; after them all, the rows to renormalise are scaled where no cut has set a weight.
    """
    changed, (num_rows, num_keys) = weights.clone(), weights.shape[-2:]
    is_set = torch.zeros_like(visible)
    scaled = torch.zeros(num_rows, 1, dtype=torch.bool, device=weights.device)
    for cut in cuts:
        rows = slice(0, num_rows) if cut.rows is None else slice(cut.rows.start, cut.rows.stop)
        keys = slice(0, num_keys) if cut.keys is None else slice(cut.keys.start, cut.keys.stop)
        old, allowed = changed[..., rows, keys].clone(), visible[rows, keys].to(weights.dtype)
        total = old.sum(-1, keepdim=True)
        equal = allowed / allowed.sum(-1, keepdim=True).clamp(min=1)
        changed[..., rows, keys] = cut.value * torch.where(total > 0, old / total.masked_fill(total == 0, 1), equal)
        is_set[rows, keys] = True
        scaled[rows] |= cut.renormalise
    fixed = changed.masked_fill(~is_set, 0).sum(-1, keepdim=True)
    others = changed.masked_fill(is_set, 0).sum(-1, keepdim=True)
    factor = torch.where(scaled & (others > 0), (1 - fixed).clamp(min=0) / others.masked_fill(others == 0, 1), 1)
    return torch.where(is_set, changed, changed * factor)


@contextmanager
def cut_attention(model: Transformer, *cuts: Sequence[Cut]) -> Generator[None]:
    """Set attention weights inside the block, in whole passes without a cache; no other thread may use the model.

    There are cuts for each sentence of a batch, or one list for all. Positions beyond a pass are ignored: in a search,
    row t is that of its t-th step.

    Raises:
        ValueError: the model has no such head.
    """
    layers = attention_layers(model)
    by_layer: defaultdict[tuple[Kind, int], list[tuple[int, Cut]]] = defaultdict(list)
    for sentence, of_sentence in enumerate(cuts):
        for cut in of_sentence:
            module = layers.get((cut.head.kind, cut.head.layer))
            if module is None or not 0 <= cut.head.head < module.num_heads:
                raise ValueError(f"this model has no head {cut.head}: the cut {str(cut)!r} belongs to another model")
            by_layer[cut.head.kind, cut.head.layer].append((sentence, cut))
    neighbourhood = model.config.neighbourhood
    functions = {
        attention_place(*key, "weights"): _cutting(key[0], of_layer, len(cuts), neighbourhood)
        for key, of_layer in by_layer.items()
    }
    with edit(model, functions):
        yield


def _cutting(kind: Kind, cuts: Sequence[tuple[int, Cut]], num_sentences: int, neighbourhood: int | None) -> Edit:
    """Function that sets weights [B, H, Q, K]."""
    groups: defaultdict[tuple[int, int], list[Cut]] = defaultdict(list)
    for sentence, cut in cuts:
        groups[sentence, cut.head.head].append(cut)

    def set_weights(weights: Tensor) -> Tensor:
        changed, (queries, keys) = weights.clone(), weights.shape[-2:]
        mask = attention_mask(kind, keys, neighbourhood)
        visible = (full_mask(kind, queries, keys) if mask is None else mask).to(weights.device)
        for (sentence, head), group in groups.items():
            rows = slice(None) if num_sentences == 1 else slice(sentence, sentence + 1)
            changed[rows, head] = apply_cuts(weights[rows, head], group, visible)
        return changed

    return set_weights


@contextmanager
def cut_translator(translator: Translator, *cuts: Sequence[Cut]) -> Generator[Transformer]:
    """Hold a translator's model for this thread with attention weights set.

    Inside the block call `explain` or the model itself: a search keeps keys in another order.

    Raises:
        ValueError: as `cut_attention`.
    """
    with translator.inspect() as model, cut_attention(model, *cuts):
        yield model


@dataclass(frozen=True)
class CutEffect:
    """Effect of cuts on a given translation."""

    before: Explanation  # the pass without the cuts
    after: Explanation  # with them
    drawn: tuple[float, ...] = ()  # change of the whole with the same cuts in each other head of their layers

    @property
    def changes(self) -> tuple[float, ...]:
        """[T] change of the log-probability of each predicted token, in nats."""
        return tuple(new - old for new, old in zip(self.after.log_probs, self.before.log_probs, strict=True))

    @property
    def change(self) -> float:
        """Change of the log-probability of the whole translation, in nats."""
        return sum(self.changes)

    def answer(self) -> Phrase:
        """What is left of the translation's probability, beside the same cuts in the other heads, if there are any."""
        words = marked("With these cuts, {left} of the translation's probability is left ({change} nats).")
        if self.drawn:
            words = marked(
                "With these cuts, {left} of the translation's probability is left ({change} nats); with the same cuts "
                "in another head of the layer, {lot}, the median of {count}."
            )
        return left_by_lot(words, self.change, self.drawn or (0.0,))

    def table(self) -> Columns:
        """A row for each predicted token; positions are counted from 0."""
        tokens = [*map(str, self.before.predicted_tokens)]
        return {
            "position": range(len(tokens)),
            "token": tokens,
            "log_prob": self.before.log_probs,
            "change": self.changes,
            "log_prob_cut": self.after.log_probs,
        }

    def gap(self, cuts: Sequence[Cut]) -> float:
        """Largest difference between weights of `after` and the numbers set.

        Cuts that overlap a later one of the same head are left out, and rows that may attend to none of a cut's keys.
        """
        worst = 0.0
        for number, cut in enumerate(cuts):
            if any(_overlap(cut, later) for later in cuts[number + 1 :]):
                continue
            layer = self.after.maps[cut.head.kind][cut.head.layer]
            rows = slice(None) if cut.rows is None else slice(cut.rows.start, cut.rows.stop)
            keys = slice(None) if cut.keys is None else slice(cut.keys.start, cut.keys.stop)
            possible = layer.visible[rows, keys].any(-1)
            sums = layer.weights[cut.head.head, rows, keys].sum(-1)[possible]
            worst = max(worst, float((sums - cut.value).abs().max()) if len(sums) else 0.0)
        return worst


def _overlap(one: Cut, other: Cut) -> bool:
    """Whether two cuts may set the same weight."""

    def meet(first: range | None, second: range | None) -> bool:
        return first is None or second is None or (first.start < second.stop and second.start < first.stop)

    return one.head == other.head and meet(one.rows, other.rows) and meet(one.keys, other.keys)


def cut_effect(translator: Translator, source: str, target: str | Sequence[int], cuts: Sequence[Cut]) -> CutEffect:
    """Score a given translation with and without cuts.

    Raises:
        ValueError: as `Translator.explain` and `cut_attention`; a position of a cut is beyond the sentence.
    """
    before = translator.explain(source, target)
    check_positions(cuts, before)
    with cut_translator(translator, cuts):
        after = translator.explain(source, target)
    counts = [before.maps[cut.head.kind][cut.head.layer].num_heads for cut in cuts]
    drawn: list[float] = []
    for shift in range(1, min(counts, default=1)):
        heads = [(cut.head.head + shift) % count for cut, count in zip(cuts, counts, strict=True)]
        moved = [replace(cut, head=cut.head._replace(head=head)) for cut, head in zip(cuts, heads, strict=True)]
        with cut_translator(translator, moved):
            drawn.append(sum(translator.explain(source, target).log_probs) - sum(before.log_probs))
    effect = CutEffect(before, after, tuple(drawn))
    require_agreement("weights as set, minus those of the pass", effect.gap(cuts), 0.0, depth=1)
    return effect


def check_positions(cuts: Sequence[Cut], explanation: Explanation) -> None:
    """Check that all rows and columns of cuts exist in a sentence.

    Raises:
        ValueError: one does not.
    """
    source, target = len(explanation.source_tokens), len(explanation.fed_tokens)
    for cut in cuts:
        num_rows = source if cut.head.kind == "encoder_self" else target
        num_keys = target if cut.head.kind == "decoder_self" else source
        for name, positions, count in (("row", cut.rows, num_rows), ("column", cut.keys, num_keys)):
            if positions is not None and positions.stop > count:
                raise ValueError(
                    f"the cut {str(cut)!r} has {name} {positions.stop}, but {cut.head} has {count} {name}s in this "
                    f"sentence: remove the cut"
                )
