"""A sentence run through one snapshot of a training run.

Every snapshot searches its own translation. Attention maps, score-cards and lens are those of one fixed target, the
best translation of the last snapshot, fed to all of them token by token (teacher forcing). So the maps of all snapshots
have the same rows and columns, and only the model changes from one to the next.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from core.analysis.alignment.first_head import cards_of
from core.analysis.declaration import Columns
from core.analysis.heads.corpus_maps import batch_maps
from core.analysis.heads.scorecards import ScoreCard
from core.analysis.heads.scorer import Frequencies
from core.analysis.lens.logit_lens import LogitLens, level_name, logit_lens
from core.analysis.over_training.history import History
from core.analysis.pictures import Cell, Grid
from core.results import Explanation, ScoredText
from core.text.phrases import Number, Phrase, marked, numbers
from core.translator import Translator

BATCH_SIZE = 8  # sentences

Pair = tuple[str, Sequence[int]]  # a source and the token ids of its target


@dataclass(frozen=True)
class SnapshotReading:
    """A sentence at one snapshot."""

    step: int  # optimizer steps so far
    translation: ScoredText  # best hypothesis of the snapshot's own beam search
    lens: LogitLens  # logit lens of the fixed target, with its explanation: maps and log-probabilities
    cards: tuple[ScoreCard, ...]  # score-card of every head on the fixed target

    @property
    def explanation(self) -> Explanation:
        return self.lens.explanation

    @property
    def log_prob(self) -> float:
        """Log-probability of the fixed target, `</s>` included, in nats."""
        return sum(self.explanation.log_probs)

    @property
    def level_probabilities(self) -> tuple[float, ...]:
        """Probability of a token of the fixed target at each level, by the logit lens: [L + 1].

        They are geometric means over the predicted tokens: exp of the mean log-probability.
        """
        predicted = self.lens.predicted_log_probs[:, self.explanation.num_forced :]
        return tuple(math.exp(value) for value in predicted.double().mean(1).tolist())


def read_snapshot(
    translator: Translator,
    step: int,
    source: str,
    target: Sequence[int],
    beam_size: int = 4,
    length_penalty: float = 0.6,
    frequencies: Frequencies | None = None,
    translation: ScoredText | None = None,
) -> SnapshotReading:
    """Translate a sentence with a snapshot, unless its own `translation` is known, and replay the fixed target.

    Raises:
        ValueError: as `Translator.translate` and `Translator.explain`.
    """
    best = translation or translator.translate(source, beam_size, length_penalty, 1).hypotheses[0]
    lens = logit_lens(translator, source, target, 1)
    return SnapshotReading(step, best, lens, tuple(cards_of([lens.explanation.maps], frequencies)))


def level_grid(readings: Sequence[SnapshotReading]) -> Grid:
    """The `level_probabilities`, a row for each level of the decoder, the last on top, a column for each snapshot."""

    def cell(value: float) -> Cell:
        return Cell(text=Number(value, ".2f") if value >= 0.005 else "", says=Number(value, ".4f"), shade=value)

    levels = range(readings[0].lens.num_layers, -1, -1)
    return Grid(
        title=Phrase(marked("Probabilities by layer and step")),
        legend=Phrase(marked("probability of a token of the last translation, geometric mean")),
        columns=numbers([each.step for each in readings], ","),
        rows=[(level_name(level), [cell(each.level_probabilities[level]) for each in readings]) for level in levels],
        width=6,
    )


def level_columns(readings: Sequence[SnapshotReading]) -> Columns:
    """A row for each snapshot and level."""
    rows = [(each.step, level, value) for each in readings for level, value in enumerate(each.level_probabilities)]
    return dict(zip(("step", "level", "probability"), map(list, zip(*rows, strict=True)), strict=True))


def last_target(history: History, source: str, beam_size: int = 4, length_penalty: float = 0.6) -> Sequence[int]:
    """Token ids of the best translation of the last snapshot.

    Raises:
        CheckpointError: the snapshot cannot be used.
        ValueError: as `Translator.translate`.
    """
    last = history.translator(history.steps[-1])
    return last.translate(source, beam_size, length_penalty, 1).hypotheses[0].token_ids


def read_snapshots(
    history: History,
    source: str,
    target: Sequence[int],
    beam_size: int = 4,
    length_penalty: float = 0.6,
    frequencies: Frequencies | None = None,
) -> list[SnapshotReading]:
    """A sentence at every snapshot, in the order of the training; see `read_snapshot`."""
    settings = source, target, beam_size, length_penalty, frequencies
    return [read_snapshot(translator, step, *settings) for step, translator in history]


def greedy_pairs(translator: Translator, sources: Sequence[str]) -> list[Pair]:
    """Sentences with their translations by greedy search."""
    translations = translator.translate_batch(sources, 1)
    return [(source, each.hypotheses[0].token_ids) for source, each in zip(sources, translations, strict=True)]


def sentence_cards(readings: Sequence[SnapshotReading]) -> list[tuple[ScoreCard, ...]]:
    """Score-cards of all heads on the fixed target, for each snapshot."""
    return [each.cards for each in readings]


def sample_cards(
    history: History, pairs: Sequence[Pair], frequencies: Frequencies | None = None
) -> list[tuple[ScoreCard, ...]]:
    """Score-cards of all heads on a sample of sentences, for each snapshot; see `cards_on`."""
    return [cards_on(translator, pairs, frequencies) for _, translator in history]


def cards_on(
    translator: Translator, pairs: Sequence[Pair], frequencies: Frequencies | None = None
) -> tuple[ScoreCard, ...]:
    """Score-card of every head on a sample of sentences with fixed targets."""
    batches = (pairs[start : start + BATCH_SIZE] for start in range(0, len(pairs), BATCH_SIZE))
    return cards_of([maps for batch in batches for maps in batch_maps(translator, batch)], frequencies)
