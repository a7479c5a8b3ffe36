"""Heads and neurons of a corpus index as tables, and heads as parallel coordinates."""

from collections.abc import Sequence
from typing import Any

from core.analysis.corpus.behaviours import BEHAVIOURS
from core.analysis.corpus.head_scores import STRENGTH, Ranges, head_scores, within
from core.analysis.corpus.index import CorpusIndex
from core.analysis.corpus.shown_examples import NeuronSort
from core.analysis.heads.head import Head
from core.analysis.heads.scorecards import ScoreCard
from core.capture import KINDS
from viz_app.drawing.head_names import KIND_NAMES
from viz_app.drawing.head_names import head_title as head_name
from viz_app.drawing.theme import Theme
from viz_app.language import localized, marked, tr

AXIS_NAMES = {
    "previous": marked("previous token"),
    "itself": marked("same position"),
    "next": marked("next token"),
    "distance": marked("fixed distance"),
    "same": marked("same word"),
    "rare": marked("rarest token"),
    "end": marked("end mark"),
    "first": marked("first token"),
    "punctuation": marked("punctuation"),
    "copies": marked("copies"),
    "translates": marked("writes translation"),
    "links": marked("links words"),
    "gold": marked("gold links"),
    "one": marked("one token"),
    "spread": marked("everywhere"),
    STRENGTH: marked("median strength"),
}
PLACE_NAMES = {
    "any": marked("anywhere"),
    "elsewhere": marked("off the usual places"),
    "previous": marked("the previous token"),
    "same_position": marked("the same position"),
    "following": marked("the next token"),
    "same_token": marked("the same word"),
    "sink_start": marked("the first token"),
    "sink_end": marked("the end mark"),
    "sink_punctuation": marked("punctuation"),
    "copies": marked("a token it copies"),
    "translates": marked("a token it translates"),
}
NEURON_SORTS: dict[NeuronSort, str] = {
    "tokens": marked("Same word in most examples"),
    "highest": marked("Highest activation"),
    "rare": marked("Active for the fewest tokens"),
}


def head_coordinates(
    index: CorpusIndex, cards: Sequence[ScoreCard], ranges: Ranges, head: Head | None, theme: Theme
) -> dict[str, Any]:
    """Return heads, faint beyond a range, as lines over the scores that all have: `Data` in parallel_coordinates.js."""
    scores = [head_scores(index, card) for card in cards]
    keys = [key for key in AXIS_NAMES if scores and all(each[key] is not None for each in scores)]
    return {
        "axes": [
            {**_axis(key, [value for each in scores if (value := each[key]) is not None]), "range": ranges.get(key)}
            for key in keys
        ],
        "lines": [
            {
                "name": head_name(card.head),
                "values": [each[key] for key in keys],
                "group": KINDS.index(card.head.kind),
                "faint": not within({key: each[key] for key in keys}, ranges),
            }
            for card, each in zip(cards, scores, strict=True)
        ],
        "groups": [
            {"name": tr(KIND_NAMES[kind]), "color": theme.head_colors[number], "dash": dash}
            for number, (kind, dash) in enumerate(zip(KINDS, ("solid", "dash", "dot"), strict=True))
        ],
        "marked": next((number for number, card in enumerate(cards) if card.head == head), None),
        "name": tr("Heads by their scores"),
    }


def _axis(key: str, values: Sequence[float]) -> dict[str, Any]:
    """Return the axis of a score: from 0 to 1 or, of the strength, to the largest."""
    axis = {"key": key, "name": tr(AXIS_NAMES[key])}
    if key == STRENGTH:
        text = tr("median over rows of the norm of what the head writes for its strongest key (Kobayashi et al. 2020)")
        return {**axis, "text": text, "low": 0.0, "high": max(values, default=1.0) or 1.0}
    low = min(0.0, *values)  # 1 minus an error rate may be below 0
    return {**axis, "text": tr(BEHAVIOURS[key].text), "low": low, "high": max(1.0, *values)}


def quantile_text(quantiles: Sequence[float], unit: str) -> str:
    """Describe the usual values, the median and the strongest percent, of a unit such as rows."""
    median, _, percent, _ = quantiles
    if not median:
        return tr("99 % of the {unit} are below {high}", unit=tr(unit), high=localized(percent, ".2f"))
    return tr(
        "99 % of the {unit} are below {high}, half below {median}",
        unit=tr(unit),
        high=localized(percent, ".2f"),
        median=localized(median, ".2f"),
    )
