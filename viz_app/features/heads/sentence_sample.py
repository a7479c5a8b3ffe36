"""A sample of sentences that heads are scored on: which sentences, how far it has got, and what came of it for each
checkpoint.
"""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import streamlit as st

from core.analysis.heads.corpus_maps import sample_maps
from core.analysis.heads.scorecards import ScoreCard
from core.analysis.heads.scoring import Scorer, piece_frequencies
from viz_app.session import permalink
from viz_app.session.memory import Memory
from viz_app.session.models import Model

if TYPE_CHECKING:
    from core.analysis.heads.head import Maps

MAX_SENTENCES = 500
MAX_BYTES = 2**20  # of an uploaded text
# where the session keeps the sentences last scored, and the work that is going on
SAMPLE, SAMPLING = "scored_sentences", "sampling"
# the address's name for what was scored: the shipped sample, or the reader's own, which it does not hold
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


@st.cache_resource(show_spinner=False)
def _finished() -> "Memory[list[ScoreCard]]":
    """Of all sessions, by checkpoint and sentences."""
    return Memory(16)


@st.cache_resource(show_spinner=False)
def _frequencies() -> "Memory[dict[str, float]]":
    return Memory(8)


@dataclass
class Sampling:
    """Score-cards of a sample, as far as they have got: whoever stops it can go on later.

    Attributes:
        digest: of the checkpoint.
        running: whether the page is to go on with it.
    """

    digest: str
    sentences: tuple[str, ...]
    batches: Iterator["list[Maps]"]
    scorer: Scorer
    running: bool = True
    done: int = field(default=0)
    turn: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def let_run(self, running: bool) -> None:
        """Stop it, or go on with it."""
        self.running = running

    def advance(self) -> bool:
        """Some sentences more; whether there are more still. What is finished is remembered.

        A run of the page that was interrupted may still be at its last sentences while the next one asks for more.
        """
        with self.turn:
            if self.done < len(self.sentences):
                for maps in next(self.batches):
                    self.scorer.add(maps)
                    self.done += 1
            if self.done < len(self.sentences):
                return True
            _finished().get((self.digest, self.sentences), self.scorer.cards)
            return False


def begin(model: Model, sentences: tuple[str, ...]) -> None:
    """Score these sentences from now on, or, if this has been done already, show what came of it.

    Raises:
        ValueError: a sentence cannot be translated; the message says which.
    """
    if finished(model, sentences) is None:
        batches = sample_maps(model.translator, sentences)
        st.session_state[SAMPLING] = Sampling(model.digest, sentences, batches, Scorer(frequencies(model)))
    else:
        st.session_state.pop(SAMPLING, None)
    st.session_state[SAMPLE] = sentences


def recall(model: Model) -> None:
    """Where the address says that the shipped sample was scored, score it, unless this session has had one scored; then
    say there what is seen.

    Raises:
        ValueError: as `begin`.
    """
    if SAMPLE not in st.session_state and st.query_params.get(ADDRESS) == SHIPPED_NAME:
        begin(model, SHIPPED)
    if SAMPLE in st.session_state or current(model) is not None:
        permalink.put(ADDRESS, SHIPPED_NAME if last_sentences() == SHIPPED else OWN_NAME)


def is_to_be_given() -> bool:
    """Whether the address speaks of its maker's own sample, and this session has had none scored."""
    return SAMPLE not in st.session_state and st.query_params.get(ADDRESS) == OWN_NAME


def sampling(model: Model) -> Sampling | None:
    """What is not yet finished, for this checkpoint."""
    found: Sampling | None = st.session_state.get(SAMPLING)
    return found if found and found.digest == model.digest and finished(model, found.sentences) is None else None


def last_sentences() -> tuple[str, ...]:
    """Those that this session has had scored last, the shipped ones at first."""
    return st.session_state.get(SAMPLE, SHIPPED)


def current(model: Model) -> tuple[tuple[str, ...], list[ScoreCard]] | None:
    """The sentences last scored in this session and every head's card on them, if this checkpoint has been scored on
    them.
    """
    cards = None if is_to_be_given() else finished(model, last_sentences())
    return None if cards is None else (last_sentences(), cards)


def finished(model: Model, sentences: tuple[str, ...]) -> list[ScoreCard] | None:
    """The cards of a checkpoint on these sentences; None where nobody has had them computed."""
    try:
        return _finished().get((model.digest, sentences), _nothing)
    except LookupError:
        return None


def frequencies(model: Model) -> Mapping[str, float]:
    """How common each piece is held to be: by the session's sample, the shipped one at first, then by the
    vocabulary.
    """
    return _frequencies().get(
        (model.digest, last_sentences()), lambda: piece_frequencies(model.translator.tokenizer, last_sentences())
    )


def sentences_of(text: str) -> tuple[str, ...]:
    """A sentence a line; blank lines are skipped.

    Raises:
        ValueError: there is none, or there are too many.
    """
    sentences = tuple(line.strip() for line in text.splitlines() if line.strip())
    if not sentences:
        raise ValueError("there is no sentence in this text: give one a line")
    if len(sentences) > MAX_SENTENCES:
        raise ValueError(f"the text has {len(sentences)} lines, at most {MAX_SENTENCES} can be scored: give fewer")
    return sentences


def uploaded_sentences(name: str, content: bytes) -> tuple[str, ...]:
    """The same from a file.

    Raises:
        ValueError: it is too large or not UTF-8, or as `sentences_of`.
    """
    if len(content) > MAX_BYTES:
        raise ValueError(f"{name} is larger than {MAX_BYTES // 2**20} MB: give fewer sentences")
    try:
        return sentences_of(content.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not UTF-8 text: {error}") from error


def _nothing() -> list[ScoreCard]:
    raise LookupError("not computed yet")
