"""Score-cards in words: what a head does on the sentence that is read, and the order that this gives the heads."""

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
    "entropy": "Entropy, low first: 0 looks at one token, 1 at all alike.",
    "offset": "Offset: where the largest weight is most often, -1 the token before, 0 the same position.",
    "sink": "Sink share, high first: the weight on special tokens, the first token and punctuation.",
    "rare": "Rare tokens, most often first: for what share of the tokens the largest weight is on the rarest token in "
    "sight.",
    "aligner": "Alignment error rate, low first: 0 finds all gold links and no others. It takes gold links, of this "
    "sentence or of a text: "
    "the page Alignment. Heads without one stand last.",
    "label": "Heads that stand out, by what they do. Hover a head to read how its label was found.",
}


class Note(NamedTuple):
    """What a cell of the grid says of its head: shortly on it, and in full when it is pointed at."""

    caption: str
    text: str


def numbers(card: ScoreCard) -> str:
    """The card's main numbers in a line."""
    known = [("rare", card.rare_token), ("AER", card.alignment_error_rate)]
    first = (
        f"entropy {card.entropy:.2f}, confidence {card.confidence:.2f}, most often at offset {offset_name(card)}, "
        f"sink {card.sink_share:.2f}"
    )
    return ", ".join([first, *(f"{name} {value:.2f}" for name, value in known if not math.isnan(value))])


def sentences(card: ScoreCard) -> str:
    """What the labels say, a sentence each; often nothing."""
    return " ".join(f"It {label.text}." for label in head_labels(card))


def ordered(cards: Sequence[ScoreCard], by: Sort) -> list[LayerHead] | None:
    """The heads in the order of a number of their cards; None: layer by layer, as they are. What has no number comes
    last.
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
    """The heads that bear one of these labels, named as in `DEFINITIONS`."""
    return {
        (card.head.layer, card.head.head)
        for card in cards
        if any(label.base_name in names for label in head_labels(card))
    }


def notes(cards: Sequence[ScoreCard], by: Sort) -> Mapping[LayerHead, Note]:
    """What the grid says of every head; nothing on it where the heads stand layer by layer."""

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
