"""The analysis `heads`: what each head does most, against random weights.

A share says little by itself: of five tokens any head gives the previous one a fifth. So a head is described by the
behaviour that is farthest above chance, of what is left above it, as Cohen 1960 corrects agreement:

    (share - chance) / (1 - chance),

where chance is the largest share of any head of its kind in the same configuration with random weights, which reads the
same texts. A head with no share above chance has no description.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import NamedTuple

import torch

from core.analysis.alignment.first_head import cards_of
from core.analysis.corpus.behaviours import BEHAVIOURS
from core.analysis.declaration import Analysis, Columns, PicturedResult
from core.analysis.heads.corpus_maps import Pair, batch_maps
from core.analysis.heads.labels import NOTHING, SHORT_NAMES
from core.analysis.heads.scorecards import ScoreCard
from core.analysis.pictures import Cell, Grid
from core.model import Transformer
from core.model.half_precision import is_large
from core.text.phrases import Number, Phrase, marked
from core.trace import Head
from core.translator import Translator

CHANCE_SENTENCES = 64  # of a corpus, in which random weights are measured
LABELS = {  # behaviours that describe a head, each with the label whose short name it has
    "previous": "previous token",
    "itself": "itself",
    "next": "next token",
    "distance": "fixed distance",
    "same": "same word",
    "end": "end mark",
    "first": "first token",
    "punctuation": "punctuation",
    "links": "aligns words",
}


class Description(NamedTuple):
    """What a head does most."""

    behaviour: str  # a key of `BEHAVIOURS`
    share: float  # of the weight, the tokens or the words, as the behaviour is defined
    chance: float  # the largest share of a head with random weights

    @property
    def above(self) -> float:
        """Share above chance, of what is left above it."""
        return (self.share - self.chance) / (1 - self.chance) if self.chance < 1 else 0.0

    @property
    def short(self) -> str:
        """Its name in the cell of a grid."""
        return SHORT_NAMES[LABELS[self.behaviour]]

    @property
    def text(self) -> Phrase:
        """In words, such as "attends to the previous token, 46 % (random weights 8 %)"."""
        return Phrase(
            marked("{does}, {share} (random weights {chance})"),
            does=Phrase(BEHAVIOURS[self.behaviour].name),
            share=Number(self.share, ".0%"),
            chance=Number(self.chance, ".0%"),
        )


def description(card: ScoreCard) -> Description | None:
    """Describe a head whose card has its chances; None where no share is above chance."""
    scores = {key: BEHAVIOURS[key].score(card) for key, _ in card.chances}
    if abs(card.offset) < 2:
        scores.pop("distance", None)  # which the weight on these positions says better
    found = [Description(key, scores[key], chance) for key, chance in card.chances if key in scores]
    best = max(found, key=lambda each: each.above, default=None)
    return best if best and best.above > 0 else None


def ranking_answer(ranked: Sequence[tuple[ScoreCard, float]], behaviour: str) -> Phrase:
    """The head that does most of a behaviour, beside random weights where they are known, and the median head."""
    card, score = ranked[0]
    does = Phrase(marked("{does}, {share}"), does=Phrase(BEHAVIOURS[behaviour].name), share=Number(score, ".0%"))
    chance = dict(card.chances).get(behaviour)
    return Phrase(
        marked("Of {count} heads, {head} most clearly {does}; the median head has {median}."),
        count=Number(len(ranked), ","),
        head=card.head.title,
        does=does if chance is None else Description(behaviour, score, chance).text,
        median=Number(median(value for _, value in ranked), ".0%"),
    )


def with_chances(cards: Iterable[ScoreCard], by_chance: Sequence[ScoreCard]) -> list[ScoreCard]:
    """Add to cards the largest shares of the heads of the same kind with random weights, see `random_twin`."""

    def chances(kind: str) -> tuple[tuple[str, float], ...]:
        shares = {key: [BEHAVIOURS[key].score(card) for card in by_chance if card.head.kind == kind] for key in LABELS}
        return tuple((key, max(found)) for key, found in shares.items() if found and not any(map(math.isnan, found)))

    of_kind = {kind: chances(kind) for kind in {card.head.kind for card in by_chance}}
    return [replace(card, chances=of_kind.get(card.head.kind, ())) for card in cards]


def with_chances_of(cards: Iterable[ScoreCard], twin: Translator | None, pairs: Sequence[Pair]) -> list[ScoreCard]:
    """Add to cards of many sentences the chances of the first of them, which are too large rather than too small."""
    maps = batch_maps(twin, pairs[:CHANCE_SENTENCES]) if twin else []
    return with_chances(cards, cards_of(maps))


def random_twin(translator: Translator, seed: int = 0) -> Translator | None:
    """The same configuration with random weights, fixed by a seed; None for a model that cannot be copied."""
    if is_large(translator.model):
        return None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Translator(Transformer(translator.config).eval(), translator.tokenizer)


@dataclass(frozen=True)
class HeadsOptions:
    """Options of `heads`: none."""


@dataclass(frozen=True)
class HeadDescriptions(PicturedResult):
    """Descriptions of all heads; None where nothing is found."""

    heads: dict[Head, Description | None]

    def table(self) -> Columns:
        """A row for each head; layers and heads are counted from 0."""
        nothing = Description("", math.nan, math.nan)
        found = [each or nothing for each in self.heads.values()]
        return {
            **{name: [getattr(head, name) for head in self.heads] for name in Head._fields},
            "does": [BEHAVIOURS[each.behaviour].name if each.behaviour else NOTHING for each in found],
            "share": [each.share for each in found],
            "random_weights": [each.chance for each in found],
        }

    def pictures(self, at: Head) -> tuple[Grid]:
        """The heads of a kind, a row for each layer, coloured by their share above chance."""
        layers = sorted({head.layer for head in self.heads if head.kind == at.kind})

        def cell(head: Head) -> Cell:
            found = self.heads[head]
            return Cell(
                text=Phrase(found.short) if found else "",
                says=found.text if found else Phrase(NOTHING),
                shade=found.above if found else 0.0,
                head=head,
            )

        rows = [[cell(head) for head in self.heads if head[:2] == (at.kind, layer)] for layer in layers]
        grid = Grid(
            title=Phrase(marked("What each head does most")),
            legend=Phrase(marked("colour: share above that of random weights")),
            columns=[f"H{number + 1}" for number in range(len(rows[0]))],
            rows=[(f"L{layer + 1}", row) for layer, row in zip(layers, rows, strict=True)],
            width=6,
        )
        return (grid,)

    def answer(self, at: Head) -> Phrase:
        """How many heads have a description, and the clearest one."""
        found = {head: each for head, each in self.heads.items() if each}
        values = {"found": str(len(found)), "count": str(len(self.heads))}
        if not found:
            return Phrase(marked("None of these {count} heads does more of anything than random weights."), **values)
        clearest = max(found, key=lambda head: found[head].above)
        return Phrase(
            marked("{found} of {count} heads do more of something than random weights; most clearly, {head} {does}."),
            head=str(clearest),
            does=found[clearest].text,
            **values,
        )


def _described(translator: Translator, source: str, target: str | Sequence[int], _: HeadsOptions) -> HeadDescriptions:
    twin = random_twin(translator)
    if twin is None:
        raise ValueError("this model is too large to be compared with random weights: describe a smaller one")
    own, random = (cards_of([each.explain(source, target).maps]) for each in (translator, twin))
    return HeadDescriptions({card.head: description(card) for card in with_chances(own, random)})


HEADS = Analysis("heads", "print what each head does most, against random weights", _described, HeadsOptions)
