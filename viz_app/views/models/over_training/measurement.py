"""A sentence, and a sample of sentences, at every snapshot of a training run; both grow step by step."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.analysis.heads.scorecards import ScoreCard
from core.analysis.heads.scorer import piece_frequencies
from core.analysis.over_training.history import History
from core.analysis.over_training.snapshot_reading import Pair, SnapshotReading, cards_on, read_snapshot
from viz_app.language import marked, tr
from viz_app.session import python_code
from viz_app.session.jobs import Job
from viz_app.session.map_pass import MapPass, replayed
from viz_app.session.readings import Search
from viz_app.session.sample_sentences import SHIPPED
from viz_app.session.state import session_object
from viz_app.views.models.over_training.histories import OpenedTraining

if TYPE_CHECKING:
    from collections.abc import Hashable

MAX_TOKENS = 128  # of source and target, whose maps are kept for all heads and snapshots
HASH: dict[str | type[Any], Any] = {History: lambda history: history.digest}


@dataclass
class SnapshotSample:
    """The shipped sample at the snapshots of a history.

    Attributes:
        frequencies: of the pieces, for score-cards.
        pairs: sources with the greedy translations of the last snapshot.
        cards: of all heads, by step.
    """

    frequencies: Mapping[str, float] = field(default_factory=dict[str, float])
    pairs: Sequence[Pair] = ()
    cards: dict[int, tuple[ScoreCard, ...]] = field(default_factory=dict[int, tuple[ScoreCard, ...]])


@dataclass
class Sentence:
    """A sentence at the snapshots of a history.

    Attributes:
        target: best translation of the last snapshot.
        readings: by step.
    """

    target: Sequence[int] = ()
    readings: dict[int, SnapshotReading] = field(default_factory=dict[int, SnapshotReading])


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=HASH)
def _sample(history: History) -> SnapshotSample:
    """Return the sample at the snapshots of a history, shared by all sessions."""
    return SnapshotSample()


@st.cache_resource(max_entries=12, show_spinner=False, hash_funcs=HASH)
def _sentence(history: History, search: Search) -> Sentence:
    """Return a sentence at the snapshots of a history, shared by all sessions."""
    return Sentence()


@dataclass
class Measurement:
    """The measurement of a sentence and the sample, so far."""

    history: History
    search: Search
    sentence: Sentence
    sample: SnapshotSample
    job: Job

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps measured so far, in order."""
        return tuple(
            step for step in self.history.steps if step in self.sentence.readings and step in self.sample.cards
        )

    @property
    def last(self) -> SnapshotReading:
        """The reading of the last snapshot, which is measured first."""
        return self.sentence.readings[self.history.steps[-1]]

    def cards(self, on_sample: bool) -> list[tuple[ScoreCard, ...]]:
        """Return the cards of all heads at `steps`, on the sample or on the sentence."""
        readings, sample = self.sentence.readings, self.sample.cards
        return [sample[step] if on_sample else readings[step].cards for step in self.steps]


@dataclass
class MeasurementSlot:
    """The session's measurement."""

    identity: "Hashable" = None
    measurement: Measurement | None = None


def measurement(history: History, search: Search) -> Measurement:
    """Return the session's measurement of a sentence."""
    slot, identity = session_object(MeasurementSlot), (history.digest, search)
    if slot.identity != identity or slot.measurement is None:
        slot.identity = identity
        sentence, sample = _sentence(history, search), _sample(history)
        job = Job(_steps(history, search, sentence, sample), len(history.steps), marked("snapshots"))
        slot.measurement = Measurement(history, search, sentence, sample, job)
    return slot.measurement


def _steps(history: History, search: Search, sentence: Sentence, sample: SnapshotSample) -> Iterator[int]:
    """Measure the last snapshot, then the others in order, which are given its translations.

    Raises:
        ValueError: the sentence cannot be translated, or is too long; or a snapshot is damaged.
    """
    last = history.steps[-1]
    settings = search.beam_size, search.length_penalty
    for step in (last, *history.steps[:-1]):
        if step not in sample.cards or step not in sentence.readings:
            translator = history.translator(step)
            if not sentence.target:
                sentence.target = translator.translate(search.text, *settings, 1).hypotheses[0].token_ids
            length = max(len(sentence.target), len(translator.token_ids(search.text, "").source))
            if length > MAX_TOKENS:
                raise ValueError(
                    tr(
                        "the sentence or its translation has {count} tokens, at most {most} are followed over a "
                        "training run: shorten it",
                        count=length,
                        most=MAX_TOKENS,
                    )
                )
            if not sample.pairs:
                sample.frequencies = piece_frequencies(translator.tokenizer, SHIPPED)
                translated = translator.translate_batch(SHIPPED, 1)
                sample.pairs = [
                    (source, each.hypotheses[0].token_ids) for source, each in zip(SHIPPED, translated, strict=True)
                ]
            if step not in sentence.readings:
                sentence.readings[step] = read_snapshot(
                    translator, step, search.text, sentence.target, *settings, sample.frequencies
                )
            if step not in sample.cards:
                sample.cards[step] = cards_on(translator, sample.pairs, sample.frequencies)
        yield 1


def snapshot_pass(training: OpenedTraining, measured: Measurement, step: int) -> MapPass:
    """Return the pass of a snapshot over the fixed target."""
    history, source, target = measured.history, measured.search.text, measured.sentence.target
    path = python_code.shown_path(training.path)
    return replayed(
        (history.digest, source, tuple(target)),
        measured.sentence.readings[step].explanation.maps,
        lambda: history.translator(step),
        lambda translator: translator.explain(source, target),
        f"{target_part(path, measured.search)}\ntranslator = history.translator({step})\n"
        "replay = lambda: translator.explain(source, target)",
        variant=step,
    )


# --- Python ---------------------------------------------------------------------------------------------------------


def script(training: OpenedTraining, measured: Measurement, part: str, file: str) -> str:
    """Return a script that measures the sentence at all snapshots, and writes the table of a part."""
    path = python_code.shown_path(training.path)
    return python_code.script(file, readings_part(path, measured.search), part)


def readings_part(path: str, search: Search) -> str:
    """Read a sentence at every snapshot as `readings`."""
    return f"""
{target_part(path, search)}
from core.analysis.heads.scorer import piece_frequencies
from core.analysis.over_training.snapshot_reading import read_snapshot
from viz_app.session.sample_sentences import SHIPPED
frequencies = piece_frequencies(last.tokenizer, SHIPPED)
settings = source, target, *search, frequencies
readings = {{step: read_snapshot(each, step, *settings) for step, each in history}}""".strip()


def target_part(path: str, search: Search) -> str:
    """Open the snapshots as `history`, and translate `source` to `target` with the last one."""
    return f"""
from core.analysis.over_training.history import open_history
history = open_history({path!r})
source, search = {search.text!r}, ({search.beam_size}, {search.length_penalty})
last = history.translator(history.steps[-1])
target = last.translate(source, *search).hypotheses[0].token_ids""".strip()


def cards_part(on_sample: bool) -> str:
    """Take the score-cards of all snapshots as `cards`, after `readings_part`."""
    if not on_sample:
        return "cards = [each.cards for each in readings.values()]"
    return """
from core.analysis.over_training.snapshot_reading import cards_on
targets = [each.hypotheses[0].token_ids for each in last.translate_batch(SHIPPED, 1)]
pairs = list(zip(SHIPPED, targets))
cards = [cards_on(each, pairs, frequencies) for _, each in history]""".strip()
