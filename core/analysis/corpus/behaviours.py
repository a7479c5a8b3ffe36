"""Behaviours to search heads by, each with a measure and the place of examples."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from core.analysis.corpus.index import CorpusIndex
from core.analysis.heads.scorecards import ScoreCard
from core.text.phrases import marked
from core.trace import KINDS, Kind


class Behaviour(NamedTuple):
    """A behaviour of heads."""

    name: str  # phrase for a head, such as "attends to the previous token"
    text: str  # definition of its score, from 0 to 1; a higher score means more of the behaviour
    place: str  # of its examples, one of `PLACES`
    score: Callable[[ScoreCard], float]
    kinds: tuple[Kind, ...] = KINDS  # of attention that it is defined for


SELF: tuple[Kind, ...] = ("encoder_self", "decoder_self")
BEHAVIOURS: dict[str, Behaviour] = {
    "previous": Behaviour(
        marked("attends to the previous token"),
        marked(
            "share of the weight on the token before; in cross-attention, before the position of the predicted token"
        ),
        "previous",
        lambda card: card.previous,
    ),
    "itself": Behaviour(
        marked("attends to the same position"),
        marked("share of the weight on the token itself; in cross-attention, at the position of the predicted token"),
        "same_position",
        lambda card: card.same_position,
    ),
    "next": Behaviour(
        marked("attends to the next token"),
        marked("share of the weight on the token after; in cross-attention, after the position of the predicted token"),
        "following",
        lambda card: card.following,
    ),
    "distance": Behaviour(
        marked("attends at a fixed distance"),
        marked("share of tokens whose largest weight is at the head's most frequent distance (Voita et al. 2019)"),
        "any",
        lambda card: card.offset_share,
    ),
    "same": Behaviour(
        marked("attends to the same word"),
        marked(
            "share of the weight on other occurrences of the token; in cross-attention, on source tokens equal to the "
            "predicted one"
        ),
        "same_token",
        lambda card: card.same_token,
    ),
    "rare": Behaviour(
        marked("attends to the rarest token"),
        marked("share of tokens whose largest weight is on the rarest visible token (Voita et al. 2019)"),
        "elsewhere",
        lambda card: card.rare_token,
    ),
    "end": Behaviour(
        marked("attends to the end mark"), marked("share of the weight on </s>"), "sink_end", lambda card: card.sink_end
    ),
    "first": Behaviour(
        marked("attends to the first token"),
        marked("share of the weight on the start mark, a language code or the first token"),
        "sink_start",
        lambda card: card.sink_start,
    ),
    "punctuation": Behaviour(
        marked("attends to punctuation"),
        marked("share of the weight on punctuation"),
        "sink_punctuation",
        lambda card: card.sink_punctuation,
    ),
    "copies": Behaviour(
        marked("copies"),
        marked(
            "share of the weight on tokens for which the head promotes this very token among the five most (Wang et "
            "al. 2022)"
        ),
        "copies",
        lambda card: card.copies,
        ("decoder_self", "cross"),
    ),
    "translates": Behaviour(
        marked("writes the translation"),
        marked(
            "share of the weight on source tokens for which the head promotes the predicted token among the five most"
        ),
        "translates",
        lambda card: card.translates,
        ("cross",),
    ),
    "links": Behaviour(
        marked("links words like the other heads"),
        marked("share of target words linked like the mean of the heads in the upper half of the layers"),
        "any",
        lambda card: card.agreement,
        ("cross",),
    ),
    "gold": Behaviour(
        marked("agrees with gold links"),
        marked("1 minus the alignment error rate (Och & Ney 2003) on sentences with links annotated by people"),
        "any",
        lambda card: 1 - card.alignment_error_rate,
        ("cross",),
    ),
    "one": Behaviour(
        marked("attends to one token at a time"),
        marked("mean of the largest weight of a row, without </s> (Voita et al. 2019)"),
        "any",
        lambda card: card.confidence,
    ),
    "spread": Behaviour(
        marked("attends everywhere"),
        marked("entropy of the weights over its maximum (Clark et al. 2019)"),
        "any",
        lambda card: card.entropy,
    ),
}


def ranked(index: CorpusIndex, behaviour: str, kinds: Sequence[Kind] = KINDS) -> list[tuple[ScoreCard, float]]:
    """Heads with their score by a key of `BEHAVIOURS`, highest first; those without one are left out."""
    chosen = BEHAVIOURS[behaviour]
    scores = [(card, chosen.score(card)) for card in index.cards if card.head.kind in kinds]
    return sorted((each for each in scores if not math.isnan(each[1])), key=lambda each: -each[1])
