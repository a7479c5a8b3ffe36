"""A sample of sentences on which all heads are scored."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import streamlit as st

from core.analysis.alignment.first_head import AgreementScorer
from core.analysis.corpus.head_description import with_chances
from core.analysis.heads.corpus_maps import batch_maps, translated_batches
from core.analysis.heads.scorecards import ScoreCard
from core.analysis.heads.scorer import piece_frequencies
from viz_app.language import marked
from viz_app.session import sample_sentences
from viz_app.session.address import SCORED_SAMPLE
from viz_app.session.jobs import Job
from viz_app.session.models import MODEL_HASH, Model
from viz_app.session.random_weights import random_weights
from viz_app.session.state import MayHoldModel, session_object


@dataclass
class SampleScores:
    """Score-cards of all heads of a checkpoint on a sample, once they are computed."""

    cards: list[ScoreCard] | None = None


@st.cache_resource(max_entries=16, show_spinner=False, hash_funcs=MODEL_HASH)
def sample_scores(model: Model, sentences: tuple[str, ...]) -> SampleScores:
    """Return the scores of a checkpoint on these sentences, which all sessions share."""
    return SampleScores()


@dataclass
class Sample(MayHoldModel):
    """The sample of a session."""

    chosen: tuple[str, ...] | None = None  # the sentences scored last; None before the first time
    job: Job | None = None  # scores them
    digest: str = ""  # of the checkpoint that `job` scores

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences scored last, at first the shipped ones."""
        return sample_sentences.SHIPPED if self.chosen is None else self.chosen

    def begin(self, model: Model, sentences: tuple[str, ...]) -> None:
        """Start to score these sentences, unless their scores are known.

        Raises:
            ValueError: a sentence cannot be translated; the message says which.
        """
        scores, job = sample_scores(model, sentences), None
        if scores.cards is None:
            batches, twin = translated_batches(model.translator, sentences), random_weights(model)
            scorer, by_chance = AgreementScorer(frequencies(model, sentences)), AgreementScorer()

            def steps() -> Iterator[int]:
                for batch in batches:
                    for each, translator in ((scorer, model.translator), (by_chance, twin)):
                        for maps in batch_maps(translator, batch) if translator else ():
                            each.add(maps)
                    yield len(batch)
                scores.cards = with_chances(scorer.cards(), by_chance.cards())

            job = Job(steps(), len(sentences), marked("sentences"))
        self.chosen, self.job, self.digest = sentences, job, model.digest

    def forget_model(self, digest: str) -> None:
        """Drop the job of a model that is closed."""
        if self.job is not None and self.digest == digest:
            self.job.close()
            self.job = None

    def unfinished_job(self, model: Model) -> Job | None:
        """The job, if it is about this checkpoint and not at its end."""
        return self.job if self.job is not None and not self.job.finished and self.digest == model.digest else None

    def cards(self, model: Model) -> list[ScoreCard] | None:
        """Return the card of every head on `sentences`; None if this checkpoint has not been scored on them."""
        return None if self.is_missing() else sample_scores(model, self.sentences).cards

    def is_missing(self) -> bool:
        """Whether the address is for a visitor's own sample that is not entered yet."""
        return self.chosen is None and sample_sentences.OWN_NAME in SCORED_SAMPLE.texts


def restore_sample(model: Model) -> None:
    """Score the shipped sample if the address, not the session, has one; then write the shown one to the address.

    Raises:
        ValueError: as `Sample.begin`.
    """
    sample = session_object(Sample)
    if sample.chosen is None and sample_sentences.SHIPPED_NAME in SCORED_SAMPLE.texts:
        sample.begin(model, sample_sentences.SHIPPED)
    if sample.chosen is not None or sample.cards(model) is not None:
        SCORED_SAMPLE.take()
        SCORED_SAMPLE.put(sample_sentences.sample_name(sample.sentences))


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=MODEL_HASH)
def frequencies(model: Model, sentences: tuple[str, ...]) -> Mapping[str, float]:
    """Return the frequency of each piece in these sentences; rarer ones are ranked by the vocabulary."""
    return piece_frequencies(model.translator.tokenizer, sentences)
