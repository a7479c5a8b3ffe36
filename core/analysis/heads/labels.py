"""Names of a head's behaviour, in plain words, from its score-card.

Most measures of a score-card are shares of a head's weight or of its tokens, so there is one threshold, `MOST`: a head
is named after something that has more of the share than everything else together. Two names need more, as in the
literature: `one token at a time` and positions by the largest weight (Voita et al. 2019). Entropy is not a share:
`BROAD` is about the entropy of uniform weights over 15 of 20 tokens.

Agreement with the other heads separates aligners at `MOST`, too. Of the 48 cross-attention heads of the shipped
checkpoint, 30 agree on 0.50 to 0.77 of the words of 150 sentences of Tatoeba; on 100 sentence pairs of Europarl with
gold links they have alignment error rates of 0.52 to 0.68. The others agree on at most 0.41, with error rates of 0.70
to 0.90.
"""

import functools
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from core.analysis.heads.scorecards import ScoreCard
from core.text.phrases import Number, Phrase, listed, marked

MOST = 0.5  # of the weight, the tokens or the words
POSITIONAL = 0.9  # share of tokens whose largest weight is at the same distance (Voita et al. 2019)
CONFIDENT = 0.8  # mean of the largest weight; "confident" heads of Voita et al. 2019
BROAD = 0.9  # share of the largest possible entropy; "broad" heads of Clark et al. 2019, threshold ours

NOTHING = marked("nothing found")  # of a head that has no name
_SHARES = {"most": Number(MOST, ".0%"), "positional": Number(POSITIONAL, ".0%")}
_POSITION = Phrase(
    "the largest weight is there for at least {positional} of the tokens (Voita et al. 2019), or more than {most} of "
    "the weight",
    **_SHARES,
)
DEFINITIONS: dict[str, Phrase] = {  # criterion of each name, in order of precedence: the most specific first
    marked("aligns words"): Phrase(
        "an alignment error rate (Och & Ney 2003) below {most} where there are gold links; without them, more than "
        "{most} of the words are linked like the mean of the heads in the upper half of the layers",
        **_SHARES,
    ),
    marked("previous token"): Phrase("the token before: {condition}", condition=_POSITION),
    marked("next token"): Phrase("the token after: {condition}", condition=_POSITION),
    marked("itself"): Phrase("the token itself: {condition}", condition=_POSITION),
    marked("same position"): Phrase(
        "cross-attention to the source token with the number of the predicted one: {condition}", condition=_POSITION
    ),
    marked("fixed distance"): Phrase(
        "a token at another distance, always the same: the largest weight is there for at least {positional} of the "
        "tokens (Voita et al. 2019)",
        **_SHARES,
    ),
    marked("same word"): Phrase(
        "more than {most} of the weight is on other occurrences of the token; in cross-attention, on source tokens "
        "equal to the predicted one",
        **_SHARES,
    ),
    marked("rarest token"): Phrase(
        "the largest weight is on the rarest visible token (Voita et al. 2019) for more than {most} of the tokens",
        **_SHARES,
    ),
    marked("end mark"): Phrase(
        "more than {most} of the weight is on </s>: perhaps a no-op, as Clark et al. 2019 suggest for separators in "
        "BERT",
        **_SHARES,
    ),
    marked("first token"): Phrase(
        "more than {most} of the weight is on the start mark, a language code or the first token", **_SHARES
    ),
    marked("punctuation"): Phrase("more than {most} of the weight is on punctuation", **_SHARES),
    marked("marks"): Phrase(
        "more than {most} of the weight is on the end mark, the start mark, language codes, the first token and "
        "punctuation together",
        **_SHARES,
    ),
    marked("one token at a time"): Phrase(
        "the largest weight of a row, without </s>, is above {confident} on average (Voita et al. 2019)",
        confident=Number(CONFIDENT, ".0%"),
    ),
    marked("spread out"): Phrase(
        "the entropy is above {broad} of its maximum (Clark et al. 2019)", broad=Number(BROAD, ".0%")
    ),
}
SHORT_NAMES: dict[str, str] = {  # for cells of grids, which are small
    marked("aligns words"): marked("aligns"),
    marked("previous token"): marked("before"),
    marked("next token"): marked("after"),
    marked("itself"): marked("itself"),
    marked("same position"): marked("place"),
    marked("fixed distance"): marked("fixed"),
    marked("same word"): marked("same"),
    marked("rarest token"): marked("rarest"),
    marked("end mark"): marked("end"),
    marked("first token"): marked("first"),
    marked("punctuation"): marked("punct."),
    marked("marks"): marked("marks"),
    marked("one token at a time"): marked("one"),
    marked("spread out"): marked("spread"),
}


@dataclass(frozen=True)
class HeadLabel:
    """Short name of a head's behaviour, and the measurement behind it."""

    name: Phrase
    text: Phrase

    @property
    def base_name(self) -> str:
        """Key of `DEFINITIONS`: `fixed distance` for `fixed distance: 2 back`."""
        return self.name.split(":")[0]


@functools.lru_cache(4096)  # a page asks for them some twenty times: to count, sort, filter and describe the heads
def head_labels(card: ScoreCard) -> tuple[HeadLabel, ...]:
    """Names of a head, most specific first; often none."""
    return tuple(_labels(card))


def label_counts(cards: Iterable[ScoreCard]) -> dict[str, int]:
    """Number of heads with each label of `DEFINITIONS`."""
    counts = Counter(name for card in cards for name in {label.base_name for label in head_labels(card)})
    return {name: counts[name] for name in DEFINITIONS}


def labelled(cards: Iterable[ScoreCard], names: Collection[str]) -> set[tuple[int, int]]:
    """Layer and number of the heads with one of these labels, named as in `DEFINITIONS`."""
    return {
        (card.head.layer, card.head.head)
        for card in cards
        if any(label.base_name in names for label in head_labels(card))
    }


def _labels(card: ScoreCard) -> Iterator[HeadLabel]:
    if card.alignment_error_rate < MOST:
        rate = Number(card.alignment_error_rate, ".2f")
        yield HeadLabel(Phrase("aligns words"), Phrase("aligns words: its alignment error rate is {rate}", rate=rate))
    elif math.isnan(card.alignment_error_rate) and card.agreement > MOST:
        yield HeadLabel(
            Phrase("aligns words"),
            Phrase("links {share} of the words like the other heads", share=Number(card.agreement, ".0%")),
        )
    yield from _position(card)
    if card.same_token > MOST:
        text = Phrase(
            "puts {share} of its weight on tokens equal to the query token", share=Number(card.same_token, ".0%")
        )
        yield HeadLabel(Phrase("same word"), text)
    if card.rare_token > MOST:
        text = Phrase(
            "attends most to the rarest visible token for {share} of tokens", share=Number(card.rare_token, ".0%")
        )
        yield HeadLabel(Phrase("rarest token"), text)
    yield from _sink(card)
    if card.confidence > CONFIDENT:
        text = Phrase("puts {share} of its weight on one token on average", share=Number(card.confidence, ".0%"))
        yield HeadLabel(Phrase("one token at a time"), text)
    if card.entropy > BROAD:
        text = Phrase(
            "attends almost uniformly: {share} of the largest possible entropy", share=Number(card.entropy, ".0%")
        )
        yield HeadLabel(Phrase("spread out"), text)


def _position(card: ScoreCard) -> Iterator[HeadLabel]:
    cross = card.head.kind == "cross"
    weights = {-1: card.previous, 0: card.same_position, 1: card.following}
    offset = max(weights, key=weights.__getitem__)
    if weights[offset] > MOST:
        text = Phrase(
            "puts {share} of its weight on {place}", share=Number(weights[offset], ".0%"), place=_place(card, offset)
        )
    elif card.offset_share >= POSITIONAL:
        offset, words = card.offset, marked("attends most to {place} for {share} of tokens")
        text = Phrase(words, share=Number(card.offset_share, ".0%"), place=_place(card, offset))
    else:
        return
    near = {0: "same position"} if cross else {-1: "previous token", 0: "itself", 1: "next token"}
    words = marked("fixed distance: {count} back" if offset < 0 else "fixed distance: {count} ahead")
    distance = Phrase(words, count=str(abs(offset)))
    yield HeadLabel(Phrase(near[offset]) if offset in near else distance, text)


def _place(card: ScoreCard, offset: int) -> Phrase:
    if card.head.kind == "cross":
        if not offset:
            return Phrase("the source token at the same position")
        return Phrase("the source token at the same position {offset}", offset=f"{offset:+d}")
    near = {-1: marked("the previous token"), 0: marked("the token itself"), 1: marked("the next token")}
    if offset in near:
        return Phrase(near[offset])
    words = marked("the token {count} before" if offset < 0 else "the token {count} after")
    return Phrase(words, count=str(abs(offset)))


def _sink(card: ScoreCard) -> Iterator[HeadLabel]:
    shares = {
        "end mark": ("</s>", card.sink_end),
        "first token": (marked("the first token"), card.sink_start),
        "punctuation": ("punctuation", card.sink_punctuation),
    }
    if not card.sink_share > MOST:
        return
    named = [
        Phrase("{share} on {place}", share=Number(share, ".0%"), place=Phrase(place))
        for place, share in shares.values()
        if share >= 0.05
    ]
    places = listed(named, "{first} and {rest}")
    most = next((name for name, (_, share) in shares.items() if share > MOST), "marks")
    text = Phrase(
        "puts {share} of its weight on tokens of little content: {places}",
        share=Number(card.sink_share, ".0%"),
        places=places,
    )
    yield HeadLabel(Phrase(most), text)
