"""Which heads are looked at: named for people, remembered for each kind of attention, and found for those who have not chosen."""

import re
from collections.abc import Sequence

from core.analysis.scorecards import ScoreCard, score_cards
from core.capture import AttentionMap, Kind
from viz_app.figures.theme import head_name

LayerHead = tuple[int, int]  # counted from 0
KIND_NAMES: dict[Kind, str] = {"encoder_self": "Encoder", "decoder_self": "Decoder", "cross": "Cross"}
KIND_TEXTS: dict[Kind, str] = {
    "encoder_self": "each source token looks at the source",
    "decoder_self": "each target token looks at what was written before it",
    "cross": "each target token looks at the source",
}


def names(maps: Sequence[AttentionMap]) -> list[str]:
    """`L1 H1`, ... of every head of these layers."""
    return [head_name(attention.layer, head) for attention in maps for head in range(attention.num_heads)]


def parsed(name: str) -> LayerHead:
    """`L5 H3` -> (4, 2)."""
    numbers = re.fullmatch(r"L(\d+) H(\d+)", name)
    if numbers is None:
        raise ValueError(f"{name!r} is not the name of a head, expected one such as 'L5 H3'")
    return int(numbers[1]) - 1, int(numbers[2]) - 1


def telling_head(kind: Kind, maps: Sequence[AttentionMap]) -> LayerHead:
    """The head to show first: the most confident one, less what it rests on tokens that say little."""

    def worth(card: ScoreCard) -> float:
        return card.confidence * (1 - card.sink_share) if card.num_tokens else 0.0

    best = max(score_cards([{kind: maps}]), key=worth)
    return best.head.layer, best.head.head


def toggled(chosen: Sequence[str], name: str, compare: bool) -> list[str]:
    """What is chosen after a click on a head: it alone, or, when comparing, it added or taken away; the last one stays."""
    if not compare:
        return [name]
    if name in chosen:
        return [other for other in chosen if other != name] or [name]
    return [*chosen, name]
