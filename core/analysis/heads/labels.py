"""Names for what a head does, each by a threshold on its score-card, with the source of the notion."""

from collections.abc import Iterator
from dataclasses import dataclass

from core.analysis.heads.scorecards import ScoreCard

POSITIONAL = 0.9  # of the tokens at one distance (Voita et al. 2019)
CONFIDENT = 0.8  # of the weight on one token, on average: what Voita et al. 2019 call extremely confident
# what a head does with more than half of its weight, or for more than half of the tokens, is named after it
MOSTLY = 0.5
BROAD = 0.9  # of the greatest possible entropy

DEFINITIONS: dict[str, str] = {
    "positional": f"the greatest weight is at one and the same distance for at least {POSITIONAL:.0%} of the tokens "
    f"(Voita et al. 2019)",
    "aligner": f"the links it finds have an alignment error rate (Och & Ney 2003) below {MOSTLY:.0%} against gold "
    f"links; the threshold is ours",
    "rare token": "the greatest weight is on the rarest token in sight (Voita et al. 2019) "
    f"for more than {MOSTLY:.0%} of the tokens; the threshold is ours",
    "same token": f"more than {MOSTLY:.0%} of the weight is on tokens that read like the one that looks; notion and "
    f"threshold are ours",
    "sink": f"more than {MOSTLY:.0%} of the weight is on </s>, <s>, the first token and punctuation: perhaps a way of "
    f"doing nothing, "
    "as Clark et al. 2019 suspect of separators in BERT; the threshold is ours",
    "confident": f"the largest weight of a row, </s> left out, is above {CONFIDENT:.0%} on average (Voita et al. 2019)",
    "broad": f"the entropy is above {BROAD:.0%} of the greatest possible (broad heads: Clark et al. 2019); the "
    f"threshold is ours",
}
"""What each label means, in the order in which they are given: the most telling first."""


@dataclass(frozen=True)
class HeadLabel:
    """A short name for what a head does, and a sentence that says how it was found."""

    name: str
    text: str

    @property
    def notion(self) -> str:
        """The key of `DEFINITIONS`: `positional` of `positional: the next token`."""
        return self.name.split(":")[0]


def head_labels(card: ScoreCard) -> tuple[HeadLabel, ...]:
    """Labels of a head, the most telling first; often none."""
    return tuple(_labels(card))


def _labels(card: ScoreCard) -> Iterator[HeadLabel]:
    if card.offset_share >= POSITIONAL:
        place = _place(card)
        yield HeadLabel(f"positional: {place}", f"looks most at {place} for {card.offset_share:.0%} of tokens")
    if card.alignment_error_rate < MOSTLY:
        yield HeadLabel(
            "aligner", f"links words as people do: its alignment error rate is {card.alignment_error_rate:.2f}"
        )
    if card.rare_token > MOSTLY:
        yield HeadLabel("rare token", f"looks most at the rarest token it can see for {card.rare_token:.0%} of tokens")
    if card.same_token > MOSTLY:
        yield HeadLabel("same token", f"gives {card.same_token:.0%} of its weight to tokens that read the same")
    if card.sink_share > MOSTLY:
        parts = (("</s>", card.sink_end), ("the first token", card.sink_start), ("punctuation", card.sink_punctuation))
        named = " and ".join(f"{share:.0%} on {name}" for name, share in parts if share >= 0.05)
        yield HeadLabel("sink", f"rests {card.sink_share:.0%} of its weight where little is said: {named}")
    if card.confidence > CONFIDENT:
        yield HeadLabel("confident", f"gives one token {card.confidence:.0%} of its weight on average")
    if card.entropy > BROAD:
        yield HeadLabel("broad", f"looks almost everywhere alike: {card.entropy:.0%} of the greatest possible entropy")


def _place(card: ScoreCard) -> str:
    if card.head.kind == "cross":
        distance = "" if card.offset == 0 else f" {card.offset:+d}"
        return f"the source token at the same position{distance}"
    near = {-1: "the previous token", 0: "the token itself", 1: "the next token"}
    return near.get(card.offset, f"the token {abs(card.offset)} {'before' if card.offset < 0 else 'after'}")
