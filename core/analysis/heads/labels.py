"""Labels for the behaviour of a head, from thresholds on its score-card."""

from collections.abc import Iterator
from dataclasses import dataclass

from core.analysis.heads.scorecards import ScoreCard

POSITIONAL = 0.9  # share of tokens at the same distance (Voita et al. 2019)
CONFIDENT = 0.8  # mean of the largest weight; "confident" heads of Voita et al. 2019
MOSTLY = 0.5  # share of the weight or of the tokens; our threshold
BROAD = 0.9  # share of the largest possible entropy

DEFINITIONS: dict[str, str] = {
    "positional": f"the largest weight is at the same distance for at least {POSITIONAL:.0%} of the tokens "
    f"(Voita et al. 2019)",
    "aligner": f"the links it finds have an alignment error rate (Och & Ney 2003) below {MOSTLY:.0%} against gold "
    f"links; the threshold is ours",
    "rare token": "the largest weight is on the rarest visible token (Voita et al. 2019) "
    f"for more than {MOSTLY:.0%} of the tokens; the threshold is ours",
    "same token": f"more than {MOSTLY:.0%} of the weight is on tokens equal to the query token; definition and "
    f"threshold are ours",
    "sink": f"more than {MOSTLY:.0%} of the weight is on </s>, <s>, the first token and punctuation: perhaps a no-op, "
    f"as Clark et al. 2019 suggest for separators in BERT; the threshold is ours",
    "confident": f"the largest weight of a row, without </s>, is above {CONFIDENT:.0%} on average (Voita et al. 2019)",
    "broad": f"the entropy is above {BROAD:.0%} of its maximum (broad heads: Clark et al. 2019); the threshold is ours",
}
"""Definition of each label, in order of precedence: the most specific first."""


@dataclass(frozen=True)
class HeadLabel:
    """Short name for what a head does, and the measurement behind it."""

    name: str
    text: str

    @property
    def base_name(self) -> str:
        """Key of `DEFINITIONS`: `positional` for `positional: the next token`."""
        return self.name.split(":")[0]


def head_labels(card: ScoreCard) -> tuple[HeadLabel, ...]:
    """Labels of a head, most specific first; often none."""
    return tuple(_labels(card))


def _labels(card: ScoreCard) -> Iterator[HeadLabel]:
    if card.offset_share >= POSITIONAL:
        place = _place(card)
        yield HeadLabel(f"positional: {place}", f"attends most to {place} for {card.offset_share:.0%} of tokens")
    if card.alignment_error_rate < MOSTLY:
        yield HeadLabel("aligner", f"aligns words: its alignment error rate is {card.alignment_error_rate:.2f}")
    if card.rare_token > MOSTLY:
        yield HeadLabel("rare token", f"attends most to the rarest visible token for {card.rare_token:.0%} of tokens")
    if card.same_token > MOSTLY:
        yield HeadLabel("same token", f"puts {card.same_token:.0%} of its weight on tokens equal to the query token")
    if card.sink_share > MOSTLY:
        parts = (("</s>", card.sink_end), ("the first token", card.sink_start), ("punctuation", card.sink_punctuation))
        named = " and ".join(f"{share:.0%} on {name}" for name, share in parts if share >= 0.05)
        yield HeadLabel("sink", f"puts {card.sink_share:.0%} of its weight on tokens of little content: {named}")
    if card.confidence > CONFIDENT:
        yield HeadLabel("confident", f"puts {card.confidence:.0%} of its weight on one token on average")
    if card.entropy > BROAD:
        yield HeadLabel("broad", f"attends almost uniformly: {card.entropy:.0%} of the largest possible entropy")


def _place(card: ScoreCard) -> str:
    if card.head.kind == "cross":
        distance = "" if card.offset == 0 else f" {card.offset:+d}"
        return f"the source token at the same position{distance}"
    near = {-1: "the previous token", 0: "the token itself", 1: "the next token"}
    return near.get(card.offset, f"the token {abs(card.offset)} {'before' if card.offset < 0 else 'after'}")
