"""The analysis `distance`: the mean distance over which each head attends.

Vig & Belinkov 2019, "Analyzing the Structure of Attention in a Transformer Language Model": the distances between the
tokens that a head connects, weighted by its attention a,

    D = sum over i, j of a_ij d_ij / sum over i, j of a_ij,        d_ij = |i - j|.

Special tokens are left out unless they are asked for: much attention goes to `</s>` when a head has nothing to do, and
its distance means nothing. Then D is the mean over the weight between tokens of the text, whose share is given, too.

They study self-attention. In cross-attention the positions of two sentences of different lengths T and S are compared,
so the distance is that from the diagonal of the map, in source tokens,

    d_ij = |S (i + 1/2) / T - (j + 1/2)|,

where i counts the predicted tokens and j the source tokens. 0 is a translation word by word in the same order.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from core.analysis.declaration import Analysis, Columns, PicturedResult, option
from core.analysis.pictures import Dot, Dots
from core.analysis.subject import EXPLAINED
from core.capture import AttentionMap
from core.files.tabular import as_columns
from core.results import Explanation
from core.text.byte_pieces import is_special
from core.text.phrases import Number, Phrase, marked
from core.trace import Head


@dataclass(frozen=True)
class DistanceOptions:
    """Options of `distance`."""

    special: bool = option(False, "count special tokens such as </s>, too", label=marked("with special tokens"))


@dataclass(frozen=True)
class HeadDistance:
    """Mean distance of one head."""

    head: Head
    distance: float  # in tokens; NaN if no weight is counted
    share: float  # of the head's weight that is counted, from 0 to 1


@dataclass(frozen=True)
class HeadDistances(PicturedResult):
    """Mean distances of all heads, by kind, then by layer."""

    heads: tuple[HeadDistance, ...]

    def table(self) -> Columns:
        """A row for each head; layers and heads are counted from 0."""
        rows = ((*each.head, each.distance, each.share) for each in self.heads)
        return as_columns((*Head._fields, "distance", "share"), rows)

    def pictures(self, at: Head) -> tuple[Dots]:
        """The heads of this kind that have a distance."""
        own = [each for each in self.heads if each.head.kind == at.kind]
        dots = [
            Dot(
                head=each.head,
                value=each.distance,
                says=Phrase(
                    marked("{distance} tokens, over {share} of its weight"),
                    distance=Number(each.distance, ".2f"),
                    share=Number(each.share, ".0%"),
                ),
            )
            for each in own
            if not math.isnan(each.distance)
        ]
        return (
            Dots(
                title=Phrase(marked("Mean attention distance of each head, by layer")),
                axis=Phrase(marked("mean distance in tokens")),
                dots=dots,
                num_layers=1 + max((each.head.layer for each in own), default=0),
            ),
        )

    def answer(self, at: Head) -> str:
        """The heads of this kind that attend nearest by and farthest."""
        known = [each for each in self.heads if each.head.kind == at.kind and not math.isnan(each.distance)]
        if not known:
            return Phrase(marked("No head attends from one token of the text to another."))
        near, far = (choose(known, key=lambda each: each.distance) for choose in (min, max))
        return Phrase(
            marked("{near} attends nearest by, over {least} tokens in the mean, and {far} farthest, over {most}."),
            near=near.head.short,
            least=Number(near.distance, ".1f"),
            far=far.head.short,
            most=Number(far.distance, ".1f"),
        )


def head_distances(explanation: Explanation, options: DistanceOptions = DistanceOptions()) -> HeadDistances:
    """Mean distance over which each head attends in a translation, see the module docstring."""
    measured: list[HeadDistance] = []
    for layers in explanation.maps.values():
        spans = counted_spans(layers[0], options.special)
        for layer in layers:
            sums, total = distance_sums(layer, spans), layer.weights.double().sum((1, 2))
            for head, (weighted, counted, all_weight) in enumerate(zip(*sums.tolist(), total.tolist(), strict=True)):
                distance = weighted / counted if counted else math.nan
                name = Head(layer.kind, layer.layer, head)
                measured.append(HeadDistance(name, distance, counted / all_weight))
    return HeadDistances(tuple(measured))


def counted_spans(layer: AttentionMap, special: bool = False) -> Tensor:
    """Distance between each query and key, and 1 where it is counted, else 0: [2, Q, K] in float64.

    It is the same for all layers of a kind.
    """
    queries = layer.row_tokens if layer.kind == "cross" else layer.query_tokens
    rows, keys = _counted(queries, special), _counted(layer.key_tokens, special)
    if layer.kind == "cross":
        places, others = (torch.arange(len(each)).double() + 0.5 for each in (rows, keys))
        places = places * (len(keys) / max(len(rows), 1))
    else:
        places, others = rows.double(), keys.double()
    spans = torch.zeros(2, len(queries), len(layer.key_tokens), dtype=torch.float64)
    spans[0, rows[:, None], keys] = (places[:, None] - others).abs()
    spans[1, rows[:, None], keys] = 1
    return spans


def distance_sums(layer: AttentionMap, spans: Tensor) -> Tensor:
    """Sum of weight times `counted_spans` of this kind, and of the weight that is counted: [2, H] in float64."""
    return torch.einsum("hqk,sqk->sh", layer.weights.double(), spans)


def _counted(tokens: Sequence[str], special: bool) -> Tensor:
    """Positions of the tokens that are counted."""
    return torch.tensor([position for position, token in enumerate(tokens) if special or not is_special(token)]).long()


distance = Analysis(
    "distance",
    "print the mean distance over which each head attends",
    head_distances,
    DistanceOptions,
    EXPLAINED,
    title=marked("Mean distance"),
    how_to_read=marked("""
The distances between the tokens that a head connects, weighted by its attention (Vig & Belinkov 2019): 0 if it attends
to the same position, 1 if to a neighbour. In cross-attention, whose tokens have no common positions, it is the distance
from the diagonal of the map, in source tokens.

Without special tokens, only the weight between tokens of the text counts: a head with nothing to do attends to `</s>`,
however far it is. Each head's share of weight that counts is in its hover text and in the table. Click a head to select
it.
"""),
)
