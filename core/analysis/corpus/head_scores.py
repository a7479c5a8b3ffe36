"""Scores and measures of the heads of a corpus index, and the heads within ranges of them."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from core.analysis.corpus.behaviours import BEHAVIOURS, ranked
from core.analysis.corpus.index import QUANTILES, CorpusIndex
from core.analysis.heads.labels import head_labels
from core.analysis.heads.scorecards import ScoreCard
from core.files.tabular import as_columns
from core.text.phrases import listed
from core.trace import KINDS, Head, Kind

Range = tuple[float, float]
Ranges = Mapping[str, Range]  # by the key of a score
STRENGTH = "strength"  # key of the median strength
EVERYTHING: Ranges = MappingProxyType({})
DISTANCE, PAIR = "mean_distance", "pair"  # keys of two measures that are no scores
NOTHING: Mapping[Head, float] = MappingProxyType({})
Point = tuple[Head, float, float]


def head_scores(index: CorpusIndex, card: ScoreCard) -> dict[str, float | None]:
    """Return the scores of a head by behaviour, and `STRENGTH`; None where it has none."""
    scores: dict[str, float | None] = {}
    for key, behaviour in BEHAVIOURS.items():
        value = behaviour.score(card) if card.head.kind in behaviour.kinds else math.nan
        scores[key] = None if math.isnan(value) else value
    scores[STRENGTH] = float(index.heads.quantiles[index.rows[card.head], QUANTILES.index(0.5)])
    return scores


def chosen_heads(
    index: CorpusIndex,
    behaviour: str,
    kinds: Sequence[Kind] = KINDS,
    layer: int | None = None,
    ranges: Ranges = EVERYTHING,
) -> list[tuple[ScoreCard, float]]:
    """Return the heads of some kinds, and of one layer or all, within all ranges, ranked by a behaviour."""
    return [
        (card, score)
        for card, score in ranked(index, behaviour, kinds)
        if layer in (None, card.head.layer) and within(head_scores(index, card), ranges)
    ]


def ranking_table(ranked: Sequence[tuple[ScoreCard, float]]) -> dict[str, list[Any]]:
    """Return a row for each head, counted from 0."""
    labels = [[label.name for label in head_labels(card)] for card, _ in ranked]
    return {
        "score": [score for _, score in ranked],
        "does": [listed(names) if names else "" for names in labels],
        "distance": [card.offset_text for card, _ in ranked],
        **{name: [getattr(card.head, name) for card, _ in ranked] for name in Head._fields},
    }


def scores_table(index: CorpusIndex, kinds: Sequence[Kind] = KINDS, layer: int | None = None) -> dict[str, list[Any]]:
    """Return the scores of all these heads, counted from 0, by behaviour, and `STRENGTH`."""
    rows = [card.head._asdict() | head_scores(index, card) for card in shown_cards(index, kinds, layer)]
    return {name: [row[name] for row in rows] for name in (*Head._fields, *BEHAVIOURS, STRENGTH)}


def shown_cards(index: CorpusIndex, kinds: Sequence[Kind], layer: int | None) -> list[ScoreCard]:
    """Return the cards of the heads of some kinds, of one layer or all."""
    return [card for card in index.cards if card.head.kind in kinds and layer in (None, card.head.layer)]


def within(values: Mapping[str, float | None], ranges: Ranges) -> bool:
    """Whether values are within all ranges of axes that they have; a gap is within none."""
    for key, (low, high) in ranges.items():
        if key in values and ((value := values[key]) is None or not low <= value <= high):
            return False
    return True


def measures(index: CorpusIndex, card: ScoreCard, pair: Mapping[Head, float] = NOTHING) -> dict[str, float | None]:
    """Return the scores of a head, its mean distance, and its weight between two words; None where it has none."""
    distance = None if math.isnan(card.distance) else card.distance
    return {**head_scores(index, card), DISTANCE: distance, PAIR: pair.get(card.head)}


def head_points(
    index: CorpusIndex,
    x: str,
    y: str,
    kinds: Sequence[Kind] = KINDS,
    layer: int | None = None,
    pair: Mapping[Head, float] = NOTHING,
) -> list[Point]:
    """Return the heads of some kinds, and of one layer or all, that have both measures, with their values."""
    points: list[Point] = []
    for card in shown_cards(index, kinds, layer):
        values = measures(index, card, pair)
        across, up = values[x], values[y]
        if across is not None and up is not None:
            points.append((card.head, across, up))
    return points


def points_table(points: Sequence[Point]) -> dict[str, list[Any]]:
    """Return a row for each head, counted from 0."""
    return as_columns((*Head._fields, "x", "y"), ((*head, across, up) for head, across, up in points))
