"""Score-cards in words, and the order of heads by them."""

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from core.analysis.corpus.head_description import LABELS, description
from core.analysis.heads.labels import DEFINITIONS, NOTHING, SHORT_NAMES, head_labels
from core.analysis.heads.scorecards import ScoreCard
from viz_app.drawing.head_names import LayerHead, name_of
from viz_app.language import joined, language, localized, marked, tr, translated

Sort = Literal[
    "layer", "pair", "confidence", "entropy", "offset", "sink", "rare", "links", "aligner", "distance", "label"
]
SORTS: dict[Sort, str] = {  # the address has these texts
    "layer": marked("By layer"),
    "pair": marked("By the two words"),
    "confidence": marked("By confidence"),
    "entropy": marked("By entropy"),
    "offset": marked("By offset"),
    "sink": marked("By sink share"),
    "rare": marked("By rare tokens"),
    "links": marked("By links"),
    "aligner": marked("By AER"),
    "distance": marked("By mean distance"),
    "label": marked("By label"),
}
SORT_TEXTS: dict[Sort, str] = {
    "layer": "",
    "pair": marked("The weight between the two selected words, high first."),
    "confidence": marked("Confidence, high first: the mean of each row's largest weight."),
    "entropy": marked("Entropy, low first: 0: all weight on one token, 1: equal weights."),
    "offset": marked("Offset: where the largest weight is most often, -1 the token before, 0 the same position."),
    "sink": marked("Sink share, high first: the weight on special tokens, the first token and punctuation."),
    "rare": marked("Rare tokens, high first: the share of rows whose largest weight is on the rarest visible token."),
    "links": marked("Links, high first: the share of words linked like the other heads. Only in cross-attention."),
    "aligner": marked(
        "Alignment error rate, low first: 0 means all gold links and no others. It needs gold links of this "
        "sentence or of a text: see the page Alignment. Heads without one are last."
    ),
    "distance": marked("Mean distance, near first: how far the head attends, in tokens, special tokens left out."),
    "label": marked("By what heads do, the most specific first. Hover a head to read the criterion."),
}


class Note(NamedTuple):
    """Caption of a grid cell, and its hover text."""

    caption: str
    text: str


class CardMeasure(NamedTuple):
    """Row of the table of score-cards: a measure in words, its scale, and its name on a card."""

    name: str
    scale: str
    column: str

    def value(self, card: ScoreCard) -> str:
        """The value of a card; "" if it was not measured."""
        return card.offset_text if self.column == "offset" else _number(getattr(card, self.column))


def _number(value: float) -> str:
    return "" if math.isnan(value) else localized(value, ".2f")


OF_WEIGHT, OF_TOKENS = marked("share of the weight"), marked("share of tokens")
MEASURES: tuple[CardMeasure, ...] = (
    CardMeasure(marked("Spread over tokens (entropy)"), marked("0: one token, 1: all alike"), "entropy"),
    CardMeasure(marked("Largest weight (confidence)"), marked("mean over tokens, </s> left out"), "confidence"),
    CardMeasure(marked("Most frequent distance"), marked("-1: the token before"), "offset"),
    CardMeasure(marked("Tokens at that distance"), OF_TOKENS, "offset_share"),
    CardMeasure(marked("Mean distance"), marked("in tokens, special ones left out"), "distance"),
    CardMeasure(marked("Weight on the end mark </s>"), OF_WEIGHT, "sink_end"),
    CardMeasure(marked("Weight on start mark, first token"), OF_WEIGHT, "sink_start"),
    CardMeasure(marked("Weight on punctuation"), OF_WEIGHT, "sink_punctuation"),
    CardMeasure(marked("Weight on the same word"), OF_WEIGHT, "same_token"),
    CardMeasure(marked("Rarest token has most"), OF_TOKENS, "rare_token"),
    CardMeasure(marked("Linked like other heads"), marked("share of words"), "agreement"),
    CardMeasure(marked("Alignment errors (AER)"), marked("0 is best"), "alignment_error_rate"),
)
NUMBERS: dict[Sort, tuple[str, int]] = {  # on a card, and 1 if the smallest come first, -1 if the largest
    "confidence": ("confidence", -1),
    "entropy": ("entropy", 1),
    "sink": ("sink_share", -1),
    "rare": ("rare_token", -1),
    "links": ("agreement", -1),
    "aligner": ("alignment_error_rate", 1),
    "distance": ("distance", 1),
}


def head_does(card: ScoreCard) -> str:
    """Describe a head against random weights, where these are known, or by its labels."""
    if card.chances:
        found = description(card)
        return translated(found.text) if found else tr(NOTHING)
    return joined([translated(label.name) for label in head_labels(card)]) or tr(NOTHING)


def numbers(card: ScoreCard) -> str:
    """Return the main numbers of a card in one line."""
    known = (
        (marked("rarest token {value:.2f}"), card.rare_token),
        (marked("linked like the other heads {value:.2f}"), card.agreement),
        (marked("AER {value:.2f}"), card.alignment_error_rate),
    )
    first = tr(
        "Entropy {entropy:.2f}, largest weight {confidence:.2f}, most often at distance {distance}, weight on end "
        "mark, first token and punctuation {sink_share:.2f}",
        entropy=card.entropy,
        confidence=card.confidence,
        distance=card.offset_text,
        sink_share=card.sink_share,
    )
    return joined([first, *[tr(text, value=value) for text, value in known if not math.isnan(value)]])


def sentences(card: ScoreCard) -> str:
    """Describe the labels, a sentence each, but for what `head_does` says with its number; often empty."""
    found = description(card) if card.chances else None
    labels = [label for label in head_labels(card) if not found or label.base_name != LABELS[found.behaviour]]
    return " ".join([tr("It {does}.", does=translated(label.text)) for label in labels])


def ordered(cards: Sequence[ScoreCard], by: Sort) -> list[LayerHead] | None:
    """Return the heads ordered by a number of their cards, those without one last; by layer for None."""
    if by in ("layer", "pair"):  # by two words that are selected, not by a card
        return None
    names = list(DEFINITIONS)

    def rank(card: ScoreCard) -> tuple[float, float]:
        labels, second = head_labels(card), 0.0
        if by == "offset":
            first, second = card.offset, -card.offset_share
        elif by == "label":
            first, second = names.index(labels[0].base_name) if labels else len(names), -card.confidence
        else:
            name, sign = NUMBERS[by]
            first = sign * getattr(card, name)
        return math.inf if math.isnan(first) else first, 0.0 if math.isnan(second) else second

    return [(card.head.layer, card.head.head) for card in sorted(cards, key=rank)]


def notes(cards: Sequence[ScoreCard], by: Sort) -> Mapping[LayerHead, Note]:
    """Return the notes of all heads; captions are empty in the order by layer."""
    code = language()
    return {(card.head.layer, card.head.head): Note(_caption(card, by), _note(card, code)) for card in cards}


def _caption(card: ScoreCard, by: Sort) -> str:
    match by:
        case "layer" | "pair":
            return ""
        case "offset":
            return card.offset_text
        case "label":
            labels, found = head_labels(card), description(card)
            short = SHORT_NAMES[labels[0].base_name] if labels else found and found.short
            return tr(short) if short else ""
        case _:
            return _number(getattr(card, NUMBERS[by][0]))


@functools.lru_cache(4096)
def _note(card: ScoreCard, _language: str) -> str:
    """Hover text of a head, kept for each language: every click on the grid shows those of all heads."""
    name = name_of(card.head.layer, card.head.head)
    return "\n".join(filter(None, (f"{name}: {head_does(card)}", sentences(card), f"{numbers(card)}.")))
