"""Score-cards in words, and the order of heads by them."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple

from core.analysis.heads.labels import head_labels
from core.analysis.heads.scorecards import ScoreCard
from viz_app.figures.head_names import LayerHead
from viz_app.figures.theme import head_name

Sort = Literal["layer", "confidence", "entropy", "offset", "sink", "rare", "aligner", "label"]
SORTS: dict[Sort, str] = {
    "layer": "By layer",
    "confidence": "By confidence",
    "entropy": "By entropy",
    "offset": "By offset",
    "sink": "By sink share",
    "rare": "By rare tokens",
    "aligner": "By AER",
    "label": "By label",
}
SORT_TEXTS: dict[Sort, str] = {
    "layer": "",
    "confidence": "Confidence, high first: the mean of each row's largest weight.",
    "entropy": "Entropy, low first: 0: all weight on one token, 1: equal weights.",
    "offset": "Offset: where the largest weight is most often, -1 the token before, 0 the same position.",
    "sink": "Sink share, high first: the weight on special tokens, the first token and punctuation.",
    "rare": "Rare tokens, high first: the share of rows whose largest weight is on the rarest visible token.",
    "aligner": "Alignment error rate, low first: 0 means all gold links and no others. It needs gold links of this "
    "sentence or of a text: see the page Alignment. Heads without one are last.",
    "label": "Labelled heads first, by label. Hover a head to read the criterion.",
}


class Note(NamedTuple):
    """Caption of a grid cell, and its hover text."""

    caption: str
    text: str


def numbers(card: ScoreCard) -> str:
    """Return the main numbers of a card in one line."""
    known = [("rare", card.rare_token), ("AER", card.alignment_error_rate)]
    first = (
        f"entropy {card.entropy:.2f}, confidence {card.confidence:.2f}, most often at offset {offset_name(card)}, "
        f"sink {card.sink_share:.2f}"
    )
    return ", ".join([first, *(f"{name} {value:.2f}" for name, value in known if not math.isnan(value))])


def sentences(card: ScoreCard) -> str:
    """Describe the labels, a sentence each; often empty."""
    return " ".join(f"It {label.text}." for label in head_labels(card))


def ordered(cards: Sequence[ScoreCard], by: Sort) -> list[LayerHead] | None:
    """Return the heads ordered by a number of their cards, those without one last.

    None: by layer, as they are.
    """
    if by == "layer":
        return None
    names = sorted({head_labels(card)[0].name for card in cards if head_labels(card)})

    def rank(card: ScoreCard) -> tuple[float, float]:
        first, second = {
            "confidence": (-card.confidence, 0.0),
            "entropy": (card.entropy, 0.0),
            "offset": (card.offset, -card.offset_share),
            "sink": (-card.sink_share, 0.0),
            "rare": (-card.rare_token, 0.0),
            "aligner": (card.alignment_error_rate, 0.0),
            "label": (names.index(head_labels(card)[0].name) if head_labels(card) else len(names), -card.confidence),
        }[by]
        return (math.inf if math.isnan(first) else first, 0.0 if math.isnan(second) else second)

    return [(card.head.layer, card.head.head) for card in sorted(cards, key=rank)]


def labelled(cards: Sequence[ScoreCard], names: Collection[str]) -> set[LayerHead]:
    """Return the heads with one of these labels, named as in `DEFINITIONS`."""
    return {
        (card.head.layer, card.head.head)
        for card in cards
        if any(label.base_name in names for label in head_labels(card))
    }


def notes(cards: Sequence[ScoreCard], by: Sort) -> Mapping[LayerHead, Note]:
    """Return the notes of all heads; captions are empty in the order by layer."""

    def caption(card: ScoreCard) -> str:
        match by:
            case "layer":
                return ""
            case "offset":
                return offset_name(card)
            case "label":
                return head_labels(card)[0].base_name if head_labels(card) else ""
            case _:
                value = {
                    "confidence": card.confidence,
                    "entropy": card.entropy,
                    "sink": card.sink_share,
                    "rare": card.rare_token,
                    "aligner": card.alignment_error_rate,
                }[by]
                return "" if math.isnan(value) else f"{value:.2f}"

    def text(card: ScoreCard) -> str:
        return f"{head_name(card.head.layer, card.head.head)}: {numbers(card)}. {sentences(card)}".rstrip()

    return {(card.head.layer, card.head.head): Note(caption(card), text(card)) for card in cards}


def offset_name(card: ScoreCard) -> str:
    """`-1`, `0` or `+2`."""
    return f"{card.offset:+d}" if card.offset else "0"
