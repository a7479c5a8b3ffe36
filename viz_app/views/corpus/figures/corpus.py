"""Heads and neurons of a corpus index as tables, and heads as parallel coordinates."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from core.analysis.corpus.behaviours import BEHAVIOURS
from core.analysis.corpus.head_scores import STRENGTH, Ranges, head_scores, within
from core.analysis.corpus.index import CorpusIndex
from core.analysis.corpus.recording import Neuron, Stack
from core.analysis.heads.head import Head
from core.analysis.heads.labels import head_labels
from core.analysis.heads.scorecards import ScoreCard
from core.analysis.tokens.words import JOINT, readable
from core.capture import KINDS
from core.text.byte_pieces import is_special
from viz_app.drawing.head_names import KIND_NAMES
from viz_app.drawing.head_names import head_title as head_name
from viz_app.drawing.scorecard_text import head_does, offset_name
from viz_app.drawing.theme import Theme
from viz_app.language import joined, localized, marked, tr

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
NeuronSort = Literal["tokens", "highest", "rare"]
NEURON_SORTS: dict[NeuronSort, str] = {
    "tokens": marked("Same word in most examples"),
    "highest": marked("Highest activation"),
    "rare": marked("Active for the fewest tokens"),
}
TOP_TOKENS = 4  # of a neuron, in the table


def ranking_table(ranked: Sequence[tuple[ScoreCard, float]]) -> dict[str, list[Any]]:
    """Return a row for each head, counted from 0."""
    return {
        "score": [score for _, score in ranked],
        "does": [head_does(card) if head_labels(card) else "" for card, _ in ranked],
        "distance": [offset_name(card) for card, _ in ranked],
        **{name: [getattr(card.head, name) for card, _ in ranked] for name in Head._fields},
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


# --- neurons --------------------------------------------------------------------------------------------------------

Tokens = Mapping[Stack, Sequence[Sequence[str]]]  # of each sentence of an index, by the stack that reads them


def neuron_tokens(index: CorpusIndex, neuron: Neuron, tokens: Tokens) -> Counter[str]:
    """Return the tokens of a neuron's examples, as they are read, with their number."""
    table, at = index.neurons[neuron.stack], (neuron.layer, neuron.neuron)
    columns = table.activations[at].tolist(), table.sentences[at].tolist(), table.positions[at].tolist()
    counts: Counter[str] = Counter()
    for activation, sentence, position in zip(*columns, strict=True):
        if activation:
            counts[readable(tokens[neuron.stack][int(sentence)][int(position)]).removeprefix(JOINT)] += 1
    return counts


def neurons_table(
    index: CorpusIndex, stack: Stack, layer: int, tokens: Tokens, sort: NeuronSort = "tokens", containing: str = ""
) -> dict[str, list[Any]]:
    """Return a row for each neuron of a layer, counted from 0, but for neurons that are never active.

    With `containing`, only neurons with examples whose token has this in it, whatever its case, the most first.
    """
    table, found = index.neurons[stack], list[tuple[tuple[float, ...], dict[str, Any]]]()
    wanted = containing.strip().casefold()
    numbers = zip(table.activations[layer, :, 0].tolist(), table.active[layer].tolist(), strict=True)
    for neuron, (highest, active) in enumerate(numbers):
        counts = neuron_tokens(index, Neuron(stack, layer, neuron), tokens) if highest > 0 else Counter[str]()
        hits = sum(count for token, count in counts.items() if wanted in token.casefold())
        if not hits:
            continue
        most = counts.most_common(TOP_TOKENS)
        same = max((count for token, count in most if not is_special(token)), default=0)
        shown = joined(f"{token} \u00d7{count}" if count > 1 else token for token, count in most)
        place = {"tokens": (-same, -highest), "highest": (-highest,), "rare": (active, -highest)}[sort]
        row = {"same": same, "highest": highest, "active": active, "tokens": shown}
        found.append(((-hits if wanted else 0, *place), row | Neuron(stack, layer, neuron)._asdict()))
    rows = [row for _, row in sorted(found, key=lambda each: each[0])]
    return {name: [row[name] for row in rows] for name in ("same", "highest", "active", "tokens", *Neuron._fields)}


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
