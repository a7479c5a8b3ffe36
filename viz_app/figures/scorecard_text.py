"""Score-cards in words, and the order of heads by them."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal, NamedTuple

from core.analysis.heads.labels import DEFINITIONS, head_labels
from core.analysis.heads.scorecards import ScoreCard
from viz_app.figures.display_text import decimal
from viz_app.figures.head_names import LayerHead
from viz_app.figures.theme import head_name

Sort = Literal["layer", "confidence", "entropy", "offset", "sink", "rare", "links", "aligner", "label"]
SORTS: dict[Sort, str] = {  # the address has these texts
    "layer": "By layer",
    "confidence": "By confidence",
    "entropy": "By entropy",
    "offset": "By offset",
    "sink": "By sink share",
    "rare": "By rare tokens",
    "links": "By links",
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
    "links": "Links, high first: the share of words linked like the other heads. Only in cross-attention.",
    "aligner": "Alignment error rate, low first: 0 means all gold links and no others. It needs gold links of this "
    "sentence or of a text: see the page Alignment. Heads without one are last.",
    "label": "By what heads do, the most specific first. Hover a head to read the criterion.",
}


class Note(NamedTuple):
    """Caption of a grid cell, and its hover text."""

    caption: str
    text: str


class Measure(NamedTuple):
    """Row of the table of score-cards: a measure in words, its scale, and a card's value as text."""

    name: str
    scale: str
    value: Callable[[ScoreCard], str]


def _number(value: float) -> str:
    return "" if math.isnan(value) else decimal(value, 2)


MEASURES: tuple[Measure, ...] = (
    Measure("Spread over tokens (entropy)", "0: one token, 1: all alike", lambda card: _number(card.entropy)),
    Measure("Largest weight (confidence)", "mean over tokens, </s> left out", lambda card: _number(card.confidence)),
    Measure("Most frequent distance", "-1: the token before", lambda card: offset_name(card)),
    Measure("Tokens at that distance", "share of tokens", lambda card: _number(card.offset_share)),
    Measure("Weight on the end mark </s>", "share of the weight", lambda card: _number(card.sink_end)),
    Measure("Weight on <s>, first token", "share of the weight", lambda card: _number(card.sink_start)),
    Measure("Weight on punctuation", "share of the weight", lambda card: _number(card.sink_punctuation)),
    Measure("Weight on the same word", "share of the weight", lambda card: _number(card.same_token)),
    Measure("Rarest token has most", "share of tokens", lambda card: _number(card.rare_token)),
    Measure("Linked like other heads", "share of words", lambda card: _number(card.agreement)),
    Measure("Alignment errors (AER)", "0 is best", lambda card: _number(card.alignment_error_rate)),
)
SHORT_NAMES: dict[str, str] = {  # captions in the grid, whose cells are small
    "aligns words": "aligns",
    "previous word": "before",
    "next word": "after",
    "itself": "itself",
    "same position": "place",
    "fixed distance": "fixed",
    "same word": "same",
    "rarest word": "rarest",
    "end mark": "end",
    "first word": "first",
    "punctuation": "punct.",
    "marks": "marks",
    "one word at a time": "one",
    "spread out": "spread",
}


def head_does(card: ScoreCard) -> str:
    """Name the labels of a head: `aligns words, one word at a time`; often empty."""
    return ", ".join(label.name for label in head_labels(card))


def numbers(card: ScoreCard) -> str:
    """Return the main numbers of a card in one line."""
    known = [
        ("rarest token", card.rare_token),
        ("linked like the other heads", card.agreement),
        ("AER", card.alignment_error_rate),
    ]
    first = (
        f"Entropy {card.entropy:.2f}, largest weight {card.confidence:.2f}, most often at distance "
        f"{offset_name(card)}, weight on end mark, first token and punctuation {card.sink_share:.2f}"
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
    names = list(DEFINITIONS)

    def rank(card: ScoreCard) -> tuple[float, float]:
        labels = head_labels(card)
        first, second = {
            "confidence": (-card.confidence, 0.0),
            "entropy": (card.entropy, 0.0),
            "offset": (card.offset, -card.offset_share),
            "sink": (-card.sink_share, 0.0),
            "rare": (-card.rare_token, 0.0),
            "links": (-card.agreement, 0.0),
            "aligner": (card.alignment_error_rate, 0.0),
            "label": (names.index(labels[0].base_name) if labels else len(names), -card.confidence),
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
                return SHORT_NAMES[head_labels(card)[0].base_name] if head_labels(card) else ""
            case _:
                value = {
                    "confidence": card.confidence,
                    "entropy": card.entropy,
                    "sink": card.sink_share,
                    "rare": card.rare_token,
                    "links": card.agreement,
                    "aligner": card.alignment_error_rate,
                }[by]
                return "" if math.isnan(value) else f"{value:.2f}"

    def text(card: ScoreCard) -> str:
        name = head_name(card.head.layer, card.head.head)
        return "\n".join(filter(None, (f"{name}: {head_does(card) or 'mixed'}", sentences(card), f"{numbers(card)}.")))

    return {(card.head.layer, card.head.head): Note(caption(card), text(card)) for card in cards}


def offset_name(card: ScoreCard) -> str:
    """`-1`, `0` or `+2`."""
    return f"{card.offset:+d}" if card.offset else "0"
