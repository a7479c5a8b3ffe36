"""A sample of sentences on which all heads are scored."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import streamlit as st

from core.analysis.alignment.first_head import AgreementTally
from core.analysis.heads.corpus_maps import sample_maps
from core.analysis.heads.scorecards import ScoreCard
from core.analysis.heads.scoring import Scorer, piece_frequencies
from viz_app.session.jobs import Job
from viz_app.session.models import MODEL_HASH, Model
from viz_app.session.state import put_in_address, session_object

MAX_SENTENCES = 500
MAX_BYTES = 2**20  # of an uploaded text
# in the address: which sample was scored, the shipped one or the visitor's own, whose sentences the address lacks
ADDRESS = "scored_sample"
SHIPPED_NAME, OWN_NAME = "shipped", "own"

SHIPPED = (
    "A brown dog runs across the grass.",
    "Two children are sitting on a wooden bench in the park.",
    "I don't know where he lives.",
    "The woman in the red coat is waiting for the bus.",
    "Could you tell me how to get to the station?",
    "A man with a hat is playing the guitar on the street.",
    "She said that she would come back tomorrow.",
    "It was raining, so we stayed at home and read books.",
    "Three young women are laughing at a table in a restaurant.",
    "My father has worked in this factory for twenty years.",
    "The cat that sleeps on the sofa belongs to my neighbour.",
    "Do you want to eat something before we leave?",
    "A boy in a blue shirt jumps into the water.",
    "He has never been to Berlin, but he would like to go.",
    "The old house on the hill was sold last year.",
    "People are standing in front of a large building.",
    "If you are tired, you should go to bed early.",
    "A group of cyclists rides along the river.",
    "Nobody believed him when he told the truth.",
    "The little girl holds a balloon in her hand.",
    "We have to buy bread, milk, eggs and apples.",
    "Tom speaks French better than his teacher.",
    "A white bird is flying over the sea.",
    "The train was late because of the snow.",
    "Please close the window before it gets cold.",
    "An elderly couple is walking through the snow with two dogs.",
    "I would have helped you if you had asked me.",
    "The players of both teams are running after the ball.",
    "Is there a supermarket near the hotel?",
    "A mechanic is repairing a motorcycle in his garage.",
    "What she wrote in her letter surprised everyone.",
    "The street musicians have attracted a large crowd.",
)


@dataclass
class SampleScores:
    """Score-cards of all heads of a checkpoint on a sample, once they are computed."""

    cards: list[ScoreCard] | None = None


@st.cache_resource(max_entries=16, show_spinner=False, hash_funcs=MODEL_HASH)
def sample_scores(model: Model, sentences: tuple[str, ...]) -> SampleScores:
    """Return the scores of a checkpoint on these sentences, which all sessions share."""
    return SampleScores()


@dataclass
class Sample:
    """The sample of a session.

    Attributes:
        chosen: the sentences scored last; None before the first time.
        job: scores them.
        digest: of the checkpoint that `job` scores.
    """

    chosen: tuple[str, ...] | None = None
    job: Job | None = None
    digest: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences scored last, at first the shipped ones."""
        return SHIPPED if self.chosen is None else self.chosen

    def begin(self, model: Model, sentences: tuple[str, ...]) -> None:
        """Start to score these sentences, unless their scores are known.

        Raises:
            ValueError: a sentence cannot be translated; the message says which.
        """
        scores, job = sample_scores(model, sentences), None
        if scores.cards is None:
            batches = sample_maps(model.translator, sentences)
            scorer, agreement = Scorer(frequencies(model, sentences)), AgreementTally()

            def steps() -> Iterator[int]:
                for batch in batches:
                    for maps in batch:
                        scorer.add(maps)
                        agreement.add(maps["cross"])
                    yield len(batch)
                shares = agreement.shares()
                scores.cards = [card.with_agreement(shares.get(card.head, math.nan)) for card in scorer.cards()]

            job = Job(steps(), len(sentences), "sentences")
        self.chosen, self.job, self.digest = sentences, job, model.digest

    def unfinished_job(self, model: Model) -> Job | None:
        """The job, if it is about this checkpoint and not at its end."""
        return self.job if self.job is not None and not self.job.finished and self.digest == model.digest else None

    def cards(self, model: Model) -> list[ScoreCard] | None:
        """Return the card of every head on `sentences`.

        Returns None if this checkpoint has not been scored on them.
        """
        return None if self.is_missing() else sample_scores(model, self.sentences).cards

    def is_missing(self) -> bool:
        """Whether the address is for a visitor's own sample that is not entered yet."""
        return self.chosen is None and st.query_params.get(ADDRESS) == OWN_NAME


def restore_sample(model: Model) -> None:
    """Score the shipped sample if the address asks for it and the session has none.

    Then the address says which sample is shown.

    Raises:
        ValueError: as `Sample.begin`.
    """
    sample = session_object(Sample)
    if sample.chosen is None and st.query_params.get(ADDRESS) == SHIPPED_NAME:
        sample.begin(model, SHIPPED)
    if sample.chosen is not None or sample.cards(model) is not None:
        put_in_address(ADDRESS, SHIPPED_NAME if sample.sentences == SHIPPED else OWN_NAME)


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=MODEL_HASH)
def frequencies(model: Model, sentences: tuple[str, ...]) -> Mapping[str, float]:
    """Return the frequency of each piece in these sentences.

    Rarer ones are ranked by the vocabulary.
    """
    return piece_frequencies(model.translator.tokenizer, sentences)


def sentences_of(text: str) -> tuple[str, ...]:
    """Split text into sentences, one a line; blank lines are skipped.

    Raises:
        ValueError: there is none, or there are too many.
    """
    sentences = tuple(line.strip() for line in text.splitlines() if line.strip())
    if not sentences:
        raise ValueError("there is no sentence in this text: enter one a line")
    if len(sentences) > MAX_SENTENCES:
        raise ValueError(f"the text has {len(sentences)} lines, at most {MAX_SENTENCES} can be scored: shorten it")
    return sentences


def uploaded_sentences(name: str, content: bytes) -> tuple[str, ...]:
    """Split an uploaded text file into sentences, one a line.

    Raises:
        ValueError: it is too large or not UTF-8, or as `sentences_of`.
    """
    if len(content) > MAX_BYTES:
        raise ValueError(f"{name} is larger than {MAX_BYTES // 2**20} MB: upload fewer sentences")
    try:
        return sentences_of(content.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not UTF-8 text: {error}") from error
