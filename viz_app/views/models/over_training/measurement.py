"""A sentence, and a sample of sentences, at every snapshot of a training run; both grow step by step."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from core.analysis.heads.scorecards import ScoreCard
from core.analysis.heads.scorer import piece_frequencies
from core.analysis.over_training.history import History, open_history
from core.analysis.over_training.snapshot_reading import (
    Pair,
    SnapshotReading,
    cards_on,
    greedy_pairs,
    last_target,
    read_snapshot,
    read_snapshots,
    sample_cards,
    sentence_cards,
)
from core.analysis.recorded_call import Call, Given
from core.capture import Kind
from viz_app.language import RefusedError, marked
from viz_app.session import python_code
from viz_app.session.jobs import Job, JobSlot
from viz_app.session.map_pass import Cell, MapPass, by_layer, replayed
from viz_app.session.readings import Search
from viz_app.session.sample_sentences import SHIPPED
from viz_app.session.state import session_object
from viz_app.views.models.over_training.histories import OpenedTraining

MAX_TOKENS = 128  # of source and target, whose maps are kept for all heads and snapshots
HASH: dict[str | type[Any], Any] = {History: lambda history: history.digest}


@dataclass
class SnapshotSample:
    """The shipped sample at the snapshots of a history."""

    frequencies: Mapping[str, float] = field(default_factory=dict[str, float])  # of the pieces, for score-cards
    pairs: Sequence[Pair] = ()  # sources with the greedy translations of the last snapshot
    # of all heads, by step
    cards: dict[int, tuple[ScoreCard, ...]] = field(default_factory=dict[int, tuple[ScoreCard, ...]])


@dataclass
class Sentence:
    """A sentence at the snapshots of a history."""

    target: Sequence[int] = ()  # best translation of the last snapshot
    readings: dict[int, SnapshotReading] = field(default_factory=dict[int, SnapshotReading])  # by step


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
    def has_begun(self) -> bool:
        """Whether the last snapshot has read the sentence: the first thing to be drawn."""
        return self.history.steps[-1] in self.sentence.readings

    @property
    def last(self) -> SnapshotReading:
        """The reading of the last snapshot, which is measured first."""
        return self.sentence.readings[self.history.steps[-1]]

    def cards(self, on_sample: bool) -> list[tuple[ScoreCard, ...]]:
        """Return the cards of all heads at `steps`, on the sample or on the sentence."""
        readings, sample = self.sentence.readings, self.sample.cards
        return [sample[step] if on_sample else readings[step].cards for step in self.steps]


class MeasurementSlot(JobSlot[Measurement]):
    """The session's measurement."""


def measurement(history: History, search: Search) -> Measurement:
    """Return the session's measurement of a sentence."""

    def begin() -> Measurement:
        sentence, sample = _sentence(history, search), _sample(history)
        job = Job(_steps(history, search, sentence, sample), len(history.steps), marked("snapshots"))
        return Measurement(history, search, sentence, sample, job)

    return session_object(MeasurementSlot).of((history.digest, search), begin)


def _steps(history: History, search: Search, sentence: Sentence, sample: SnapshotSample) -> Iterator[int]:
    """Measure the last snapshot, then the others in order, which are given its translations."""
    last = history.steps[-1]
    settings = search.beam_size, search.length_penalty
    for step in (last, *history.steps[:-1]):
        if step not in sample.cards or step not in sentence.readings:
            translator, translation = history.translator(step), None
            if not sentence.target:
                translation = translator.translate(search.text, *settings, 1).hypotheses[0]
                sentence.target = translation.token_ids
            length = max(len(sentence.target), len(translator.token_ids(search.text, "").source))
            if length > MAX_TOKENS:
                raise RefusedError(
                    "the sentence or its translation has {count} tokens, at most {most} are followed over a "
                    "training run: shorten it",
                    count=length,
                    most=MAX_TOKENS,
                )
            sample.frequencies = sample.frequencies or piece_frequencies(translator.tokenizer, SHIPPED)
            if step not in sentence.readings:
                sentence.readings[step] = read_snapshot(
                    translator, step, search.text, sentence.target, *settings, sample.frequencies, translation
                )
            if step == last:
                yield 0  # so that the sentence can be drawn before the sample is read
            sample.pairs = sample.pairs or greedy_pairs(translator, SHIPPED)
            if step not in sample.cards:
                sample.cards[step] = cards_on(translator, sample.pairs, sample.frequencies)
        yield 1


def snapshot_pass(training: OpenedTraining, measured: Measurement, step: int) -> MapPass:
    """Return the pass of a snapshot over the fixed target."""

    def call(cell: Cell) -> Call:
        translator = Call("translator", "translator", (history_call(training), step))
        return replayed(translator, "explain", sentence_call(training, measured), cell)

    source, target = measured.search.text, measured.sentence.target
    maps = by_layer(measured.sentence.readings[step].explanation.maps)
    return MapPass((measured.history.digest, source, tuple(target)), maps, call, variant=step)


# --- recorded calls -------------------------------------------------------------------------------------------------


def history_call(training: OpenedTraining) -> Call:
    """Return the call that opens the snapshots."""
    return Call("history", open_history, (python_code.given_path("path", training.path),)).returning(training.history)


def sentence_call(training: OpenedTraining, measured: Measurement) -> tuple[Given, Call]:
    """Return the source, and the call that translates it with the last snapshot to the target."""
    search = measured.search
    source = Given("source", search.text, lambda name: f"{name} = {search.text!r}")
    target = Call("target", last_target, (history_call(training), source, search.beam_size, search.length_penalty))
    return source, target.returning(measured.sentence.target)


def readings_call(training: OpenedTraining, measured: Measurement) -> Call:
    """Return the call that reads the sentence at every snapshot."""
    search = measured.search.beam_size, measured.search.length_penalty
    arguments = *sentence_call(training, measured), *search, _frequencies(training, measured)
    known = [measured.sentence.readings[step] for step in measured.steps]
    return Call("readings", read_snapshots, (history_call(training), *arguments)).returning(known)


def reading_call(training: OpenedTraining, measured: Measurement, step: int) -> Call:
    """Return the call that reads the sentence at one snapshot."""
    reading = Call("reading", "[]", (readings_call(training, measured), measured.history.steps.index(step)))
    return reading.returning(measured.sentence.readings[step])


def maps_call(training: OpenedTraining, measured: Measurement, step: int, kind: Kind) -> Call:
    """Return the call that reads the maps of a kind at one snapshot."""
    explanation = Call("explanation", ".explanation", (reading_call(training, measured, step),))
    return Call("maps", "[]", (Call("all_maps", ".maps", (explanation,)), kind))


def cards_call(training: OpenedTraining, measured: Measurement, on_sample: bool) -> Call:
    """Return the call that makes the score-cards of all snapshots, of the sample or of the sentence."""
    known = measured.cards(on_sample)
    if not on_sample:
        return Call("cards", sentence_cards, (readings_call(training, measured),)).returning(known)
    pairs = Call("pairs", greedy_pairs, (_last(training), _sample_sentences())).returning(measured.sample.pairs)
    arguments = history_call(training), pairs, _frequencies(training, measured)
    return Call("cards", sample_cards, arguments).returning(known)


def _last(training: OpenedTraining) -> Call:
    return Call("last", "translator", (history_call(training), training.history.steps[-1]))


def _frequencies(training: OpenedTraining, measured: Measurement) -> Call:
    tokenizer = Call("tokenizer", ".tokenizer", (_last(training),))
    return Call("frequencies", piece_frequencies, (tokenizer, _sample_sentences())).returning(
        measured.sample.frequencies
    )


def _sample_sentences() -> Given:
    return python_code.given_sample(SHIPPED)
