"""The analysis `row-entropy`: how widely each token of a head attends.

Ghader & Monz 2017, "What does Attention in Neural Machine Translation Pay Attention to?", for the row of each query i:

    H_i = - sum over j of a_ij ln a_ij,    in nats,

from 0, all weight on one key, to ln of the number of visible keys, where all have the same weight. The score-cards have
the mean of H_i over its largest possible value.
"""

from dataclasses import dataclass
from math import log

import torch
from torch.special import entr

from core.analysis.declaration import Analysis, Columns, PicturedResult
from core.analysis.pictures import Cell, Grid
from core.analysis.subject import EXPLAINED
from core.analysis.tokens.words import readable_all
from core.files.tabular import as_columns
from core.results import Explanation
from core.text.phrases import Number, Phrase, marked
from core.trace import Head, Kind


@dataclass(frozen=True)
class RowEntropyOptions:
    """Options of `row-entropy`: none."""


@dataclass(frozen=True)
class RowEntropies(PicturedResult):
    """Entropies of all rows."""

    explanation: Explanation  # the maps that they are of
    nats: dict[Kind, tuple[torch.Tensor, ...]]  # [H, Q] by kind and layer
    largest: dict[Kind, tuple[float, ...]]  # ln of the number of keys that each row can see: [Q] by kind

    def table(self) -> Columns:
        """A row for each head and token; layers, heads and positions are counted from 0."""
        rows = [
            (kind, layer, head, position, token, value, self.largest[kind][position])
            for kind, layers in self.nats.items()
            for layer, heads in enumerate(layers)
            for head, values in enumerate(heads.tolist())
            for position, (token, value) in enumerate(zip(self._tokens(kind), values, strict=True))
        ]
        return as_columns((*Head._fields, "position", "token", "entropy", "largest"), rows)

    def pictures(self, at: Head) -> tuple[Grid]:
        """The heads of the layer, coloured by the share of the largest possible entropy."""
        kind, layer, _ = at
        nats, largest = self.nats[kind][layer].T.tolist(), self.largest[kind]

        def cell(row: int, head: int, value: float) -> Cell:
            return Cell(
                text=Number(value, ".1f"),
                says=Phrase(
                    marked("{entropy} of at most {largest} nats"),
                    entropy=Number(value, ".2f"),
                    largest=Number(largest[row], ".2f"),
                ),
                shade=value / largest[row] if largest[row] else 0.0,
                head=Head(kind, layer, head),
            )

        grid = Grid(
            title=Phrase(marked("Entropies of the rows of layer {layer}"), layer=Number(layer + 1, "d")),
            legend=Phrase(marked("entropy in nats; colour: share of the largest possible one")),
            columns=[f"H{head + 1}" for head in range(len(nats[0]))],
            rows=[
                (token, [cell(row, head, value) for head, value in enumerate(nats[row])])
                for row, token in enumerate(readable_all(self._tokens(kind)))
            ],
        )
        return (grid,)

    def answer(self, at: Head) -> str:
        """The heads of this kind that attend most narrowly and most widely, by the mean over their rows."""
        kind = at.kind
        shares = {
            Head(kind, number, head): share
            for number, nats in enumerate(self.nats[kind])
            for head, share in enumerate((nats.sum(1) / max(sum(self.largest[kind]), 1e-12)).tolist())
        }
        narrow, wide = (choose(shares, key=shares.__getitem__) for choose in (min, max))
        return Phrase(
            marked(
                "{narrow} attends most narrowly, with {least} of the largest possible entropy, and {wide} most widely, "
                "with {most}."
            ),
            narrow=narrow.short,
            least=Number(shares[narrow], ".0%"),
            wide=wide.short,
            most=Number(shares[wide], ".0%"),
        )

    def _tokens(self, kind: Kind) -> tuple[str, ...]:
        return self.explanation.maps[kind][0].row_tokens


def _measured(explanation: Explanation, _: RowEntropyOptions) -> RowEntropies:
    maps = explanation.maps
    return RowEntropies(
        explanation,
        {kind: tuple(entr(layer.weights.double()).sum(-1) for layer in layers) for kind, layers in maps.items()},
        {kind: tuple(log(count) for count in layers[0].visible.sum(1).tolist()) for kind, layers in maps.items()},
    )


row_entropy = Analysis(
    "row-entropy",
    "print how widely each token of each head attends",
    _measured,
    RowEntropyOptions,
    EXPLAINED,
    title=marked("Entropy of each row"),
    how_to_read=marked("""
How widely each token attends, in the layer of the first selected head (Ghader & Monz 2017): 0 nats with all weight on
one token, at most the logarithm of the number of tokens that it can see. The colour is the share of that. Click a cell
to select its head.
"""),
)
